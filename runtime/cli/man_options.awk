# Writes a manual page: PAGE.in with each line "@OPTIONS COMMAND@" replaced by the rows of options.def that command takes
# under their group titles, and "@VARIABLES@" by the rows of variables.
# "@HEADER@" stands for the declarations of the file `header`.
#   awk -f man_options.awk -v version=X -v header=hlorun.h options.def PAGE.in
function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text
}

function add_option(count, piece,   letter, argument, help, k) {
  letter = match(piece[3], /'.'/) ? "\\-" substr(piece[3], RSTART + 1, 1) ", " : ""
  argument = piece[4]
  if (argument != "" && argument !~ /^\[/) argument = " " argument
  for (k = 6; k < count; k += 2) help = help piece[k]
  option_count++
  option_group[option_count] = group
  option_commands[option_count] = piece[5]
  option_text[option_count] = ".TP\n.BR \"" letter "\\-\\-" roff(piece[2]) "\" \"" roff(argument) "\"\n" roff(help) ".\n"
}

function print_options(command,   k, last) {
  for (k = 1; k <= option_count; k++) {
    if (option_commands[k] !~ "(^|[ ,|])(ANY_COMMAND|" command ")([ ,|]|$)") continue
    if (option_group[k] != last) printf ".SS %s\n", option_group[k]
    last = option_group[k]
    printf "%s", option_text[k]
  }
}

# A row ends with the line that ends in ")"; its strings are every second piece between quotes.
FNR == NR {
  row = row $0
  if ($0 ~ /^OPTION_GROUP/) {
    split(row, piece, "\"")
    group = piece[2]
  } else if ($0 ~ /\)$/ && row ~ /^OPTION\(/) {
    count = split(row, piece, "\"")
    add_option(count, piece)
  } else if ($0 ~ /\)$/ && row ~ /^VARIABLE\(/) {
    count = split(row, piece, "\"")
    help = ""
    for (k = 6; k < count; k += 2) help = help piece[k]
    variables = variables ".TP\n.BR " piece[2] " \"=" roff(piece[4]) "\"\n" roff(help) ".\n"
  } else if (row ~ /^(OPTION|VARIABLE)\(/) {
    next # the row goes on
  }
  row = ""
  next
}

/^@OPTIONS [A-Z]+@$/ { print_options(substr($2, 1, length($2) - 1)); next }
# The declarations of hlorun.h, from the first type on, without the lines for C++.
function print_header(   line) {
  while ((getline line <header) > 0) {
    if (line ~ /^typedef/) started = 1
    if (line ~ /^#ifdef __cplusplus/) break
    if (started) printf "%s%s\n", line ~ /^[.\047]/ ? "\\&" : "", roff(line)
  }
  close(header)
}

/^@HEADER@$/ { print_header(); next }
/^@VARIABLES@$/ { printf "%s", variables; next }
{ gsub(/@VERSION@/, version); print }
