# bash completion for fathom: commands and options as the program itself lists them.
_fathom()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(fathom help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p') --version --help" -- "$word")
    elif [ "$command" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(fathom help 2>/dev/null | sed -n 's/^  \([a-z]\{1,\}\)  .*/\1/p')" -- "$word")
    elif [ "${word#-}" != "$word" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(fathom "$command" --help 2>/dev/null | grep -oE '^ {2}.{4}--[a-z-]+' | grep -oE -- '--[a-z-]+')" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _fathom fathom
