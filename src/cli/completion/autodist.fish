# fish completion of autodist, printed by `autodist completion fish`
function __autodist_complete
    set -l token (commandline -ct)
    set -l words (commandline -opc) $token
    set -l lines (command autodist complete -- $words[2..-1] 2>/dev/null)
    set -l option (string match -r '^--[^=]*=' -- $token)
    set -l value (string replace -r '^--[^=]*=' '' -- $token)
    switch "$lines[1]"
        case words
            printf '%s\n' $lines[2..-1]
        case files
            for path in (__fish_complete_path $value)
                echo "$option"$path
            end
        case folders
            for path in (__fish_complete_directories $value '')
                echo "$option"$path
            end
        case variables
            for name in (set -nx)
                echo "$option"$name
            end
        case 'program *'
            # Completes the program's command line as if it were typed alone.
            set -l begin (math (string replace 'program ' '' $lines[1]) + 1)
            complete -C (string join ' ' -- (string escape -- $words[$begin..-2]) $token)
    end
end

complete -c autodist -f -a '(__autodist_complete)'
