#!/usr/bin/env bash
# The completion of bash offers commands, a command's own options, the words of choices and files; those of other shells
# are checked by these shells where they are installed.
set -u
. "$(dirname "$0")/common.sh"
folder=$build_dir/runtime/cli/completion
cd "$work" || exit 99
touch program.hlo 'two words.hlo'

# completes NAME WORD... -- OFFERED...: what bash offers for the last word, one of a line in $work/out.
offers() {
  local name=$1 words=() offered
  shift
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  shift
  bash -c '. "$1"; shift
    compopt() { :; }
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _hlorun
    printf "%s\n" "${COMPREPLY[@]}"' - "$folder/bash/hlorun" "${words[@]}" >"$work/out" 2>&1
  for offered in "$@"; do
    case $offered in
      '!'*) if grep -qxF -e "${offered#!}" "$work/out"; then fail "$name: offers ${offered#!}" "$work/out"; else pass; fi ;;
      *) if grep -qxF -e "$offered" "$work/out"; then pass; else fail "$name: wants $offered" "$work/out"; fi ;;
    esac
  done
}

offers "a command" hlorun c -- check convert '!test'
offers "a program" hlorun p -- program.hlo
offers "a program with a blank" hlorun check tw -- 'two words.hlo'
offers "options of run" hlorun --re -- --repeat --resume '!--jobs'
offers "options of test" hlorun test --j -- --jobs '!--repeat'
offers "options of every command" hlorun schedule --h -- --help
offers "words of a choice" hlorun --engine r -- reference '!compiled'
offers "words of a choice after =" hlorun --engine = c -- compiled '!reference'
offers "a file" hlorun --input p -- program.hlo
offers "a number" hlorun --steps p -- '!program.hlo'
offers "verbs of schedule" hlorun schedule t -- to-hlo
# Every option of every command.
for command in run check test convert schedule; do
  mapfile -t options < <("$hlorun" "$command" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+')
  expect_some "options of $command" 5 "${#options[@]}"
  for option in "${options[@]}"; do
    offers "$command $option" hlorun "$command" "$option" -- "$option"
  done
done

expect_exit "bash reads its file" 0 bash -n "$folder/bash/hlorun"
for shell in zsh fish; do
  if command -v "$shell" >/dev/null 2>&1; then expect_exit "$shell reads its file" 0 "$shell" -n "$folder/$shell"/*
  else skip "completion of $shell: there is no $shell"; fi
  for option in input engine any-order microbatches; do
    if grep -qe "-$option\b\|-l $option " "$folder/$shell"/*; then pass; else fail "$shell: no --$option"; fi
  done
done
finish
