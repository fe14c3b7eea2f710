# Writes the completion of a shell from options.def: awk -f completion.awk -v shell=bash|zsh|fish options.def
# A command's options are those whose rows name it. What an option's argument is follows from its kind and its text:
# the words of a CHOICE, files where it speaks of FILE or DIR, else nothing.
BEGIN { commands = "run check test convert schedule" }

function add_row(   count, piece, field, k) {
  count = split(row, piece, "\"")
  split(piece[5], field, ",")
  option++
  name[option] = piece[2]
  letter[option] = match(piece[3], /'.'/) ? substr(piece[3], RSTART + 1, 1) : ""
  argument[option] = piece[4]
  kind[option] = field[2]
  gsub(/ /, "", kind[option])
  takers[option] = tolower(field[3])
  gsub(/any_command/, commands, takers[option])
  gsub(/[|\n]/, " ", takers[option])
  help[option] = ""
  for (k = 6; k < count; k += 2) help[option] = help[option] piece[k]
}

# The option rows: one ends with the line that ends in ")".
/^OPTION\(/ || row != "" {
  row = row $0
  if ($0 ~ /\)$/) {
    add_row()
    row = ""
  }
}

function wants_path(k) { return argument[k] ~ /FILE|DIR|FOLDER|LIBRARY/ }
function is_optional(k) { return argument[k] ~ /^\[/ }
function words(k) { return kind[k] == "CHOICE" ? argument[k] : "" }

function takes(k, command) { return index(" " takers[k] " ", " " command " ") > 0 }

function flags(k) { return "--" name[k] (letter[k] == "" ? "" : "|-" letter[k]) }

function write_bash(   k, c, count, list, choice, path, plain, text) {
  print "# Completion of hlorun for bash. Generated from options.def."
  print "_hlorun() {"
  print "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=run options= words="
  print "  COMPREPLY=()"
  print "  case ${COMP_WORDS[1]} in check|test|convert|schedule) command=${COMP_WORDS[1]} ;; esac"
  print "  [ \"$current\" != = ] || current="
  print "  if [ \"$previous\" = = ] && [ \"$COMP_CWORD\" -gt 1 ]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi"
  print "  case $previous in"
  for (k = 1; k <= option; k++) {
    if (argument[k] == "" || is_optional(k)) continue
    if (words(k) != "") {
      text = words(k)
      gsub(/\|/, " ", text)
      printf "    %s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\"); return ;;\n", flags(k), text
    } else if (wants_path(k)) {
      path = path (path == "" ? "" : "|") flags(k)
    } else {
      plain = plain (plain == "" ? "" : "|") flags(k)
    }
  }
  printf "    %s) compopt -o default; mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n", path
  printf "    %s) return ;;\n", plain
  print "  esac"
  print "  case $command in"
  count = split(commands, list, " ")
  for (c = 1; c <= count; c++) {
    printf "    %s) options='", list[c]
    for (k = 1; k <= option; k++) if (takes(k, list[c])) printf " --%s", name[k]
    print "' ;;"
  }
  print "  esac"
  print "  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\"); return; fi"
  printf "  [ \"$COMP_CWORD\" -ne 1 ] || words='%s'\n", commands
  print "  if [ \"$command $COMP_CWORD\" = 'schedule 2' ]; then words='gen to-hlo from-hlo'; fi"
  print "  compopt -o filenames 2>/dev/null"
  print "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"; compgen -f -- \"$current\")"
  print "}"
  print "complete -F _hlorun hlorun"
}

function escape_zsh(text) {
  gsub(/'/, "'\\''", text)
  gsub(/[\[\]:]/, "\\\\&", text)
  return text
}

function write_zsh(   k, c, count, list, text, value) {
  print "#compdef hlorun"
  print "# Completion of hlorun for zsh. Generated from options.def."
  print "_hlorun() {"
  print "  local command=run"
  print "  local -a options"
  print "  case ${words[2]} in check|test|convert|schedule) command=${words[2]} ;; esac"
  print "  case $command in"
  count = split(commands, list, " ")
  for (c = 1; c <= count; c++) {
    printf "    %s) options=(\n", list[c]
    for (k = 1; k <= option; k++) {
      if (!takes(k, list[c])) continue
      value = ""
      if (argument[k] != "" && !is_optional(k)) {
        value = ":" escape_zsh(argument[k]) ":"
        text = words(k)
        gsub(/\|/, " ", text)
        if (text != "") value = ":value:(" text ")"
        else if (wants_path(k)) value = value "_files"
        else value = value " "
      }
      printf "      '*--%s%s[%s]%s'\n", name[k], value == "" ? "" : "=", escape_zsh(help[k]), value
    }
    print "    ) ;;"
  }
  print "  esac"
  printf "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then compadd %s; _files; return; fi\n", commands
  print "  if [[ $command = schedule ]] && (( CURRENT == 3 )); then compadd gen to-hlo from-hlo; return; fi"
  print "  _arguments -s $options '*:program:_files'"
  print "}"
  print "_hlorun \"$@\""
}

function escape_fish(text) {
  gsub(/[\\']/, "\\\\&", text)
  return text
}

function write_fish(   k, c, count, list, test, text) {
  print "# Completion of hlorun for fish. Generated from options.def."
  print "set -l commands check test convert schedule"
  printf "complete -c hlorun -n __fish_is_first_token -a '%s'\n", commands
  print "complete -c hlorun -n '__fish_seen_subcommand_from schedule' -a 'gen to-hlo from-hlo'"
  count = split(commands, list, " ")
  for (k = 1; k <= option; k++) {
    for (c = 1; c <= count; c++) {
      if (!takes(k, list[c])) continue
      test = "__fish_seen_subcommand_from " list[c]
      if (list[c] == "run") test = "not __fish_seen_subcommand_from $commands"
      printf "complete -c hlorun -n \"%s\" -l %s", test, name[k]
      if (letter[k] != "") printf " -s %s", letter[k]
      text = words(k)
      gsub(/\|/, " ", text)
      if (text != "") printf " -x -a '%s'", text
      else if (argument[k] != "" && !is_optional(k)) printf wants_path(k) ? " -r -F" : " -x"
      printf " -d '%s'\n", escape_fish(help[k])
    }
  }
}

END {
  if (shell == "bash") write_bash()
  else if (shell == "zsh") write_zsh()
  else write_fish()
}
