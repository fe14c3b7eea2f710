# Writes the manual: hlorun.1.in with its line @OPTIONS@ replaced by the rows of options.def, and @VARIABLES@ likewise.
#   awk -f man_options.awk -v version=X options.def hlorun.1.in
function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text
}

# A row ends with the line that ends in ")"; its strings are every second piece between quotes.
FNR == NR {
  row = row $0
  if ($0 ~ /^OPTION_GROUP/) {
    split(row, piece, "\"")
    options = options ".SS " piece[2] "\n"
  } else if ($0 ~ /\)$/ && row ~ /^OPTION\(/) {
    count = split(row, piece, "\"")
    letter = match(piece[3], /'.'/) ? "\\-" substr(piece[3], RSTART + 1, 1) ", " : ""
    argument = piece[4]
    if (argument != "" && argument !~ /^\[/) argument = " " argument
    options = options ".TP\n.BR \"" letter "\\-\\-" roff(piece[2]) "\" \"" roff(argument) "\"\n"
    help = ""
    for (k = 6; k < count; k += 2) help = help piece[k]
    options = options roff(help) ".\n"
  } else if ($0 ~ /\)$/ && row ~ /^VARIABLE\(/) {
    count = split(row, piece, "\"")
    variables = variables ".TP\n.BR " piece[2] " \"=" roff(piece[4]) "\"\n" roff(piece[6]) ".\n"
  } else if (row ~ /^(OPTION|VARIABLE)\(/) {
    next # the row goes on
  }
  row = ""
  next
}

/^@OPTIONS@$/ { printf "%s", options; next }
/^@VARIABLES@$/ { printf "%s", variables; next }
{ gsub(/@VERSION@/, version); print }
