#!/usr/bin/env bash
# The commands of README.md, BENCHMARKS.md and the guide, from a fresh clone with an empty target
# directory, as a reader types them; of the benches, with few rounds. For a weekly job.
. "$(dirname "$0")/common.sh"
pages=(README.md BENCHMARKS.md src/guide/*.md)
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone --quiet . "$clone/flatslab"
cd "$clone/flatslab"
unset CARGO_TARGET_DIR

# Lines of code blocks that begin with `cargo`, without what is said beside them. What records
# figures needs more rounds than these; and what opens a browser has no screen here.
commands=$(sed -n 's/^ *\(cargo .*\)$/\1/p' "${pages[@]}" | sed 's/ *#.*//; s/ --record//; s/ --open//')
[ "$(wc -l <<<"$commands")" -ge 8 ]

# as_tried COMMAND: the same with few rounds, if it measures.
as_tried() {
    local command=$1
    if [[ "$command" == "cargo bench"* && "$command" != *--list* ]]; then
        [[ "$command" == *" -- "* ]] || command+=" --"
        [[ "$command" == *--quick* ]] || command+=" --quick"
    fi
    echo "$command"
}

while read -r command; do
    echo "== $command"
    begun=$SECONDS
    # shellcheck disable=SC2086
    $command </dev/null
    echo "== $((SECONDS - begun)) s"
done < <(while read -r command; do as_tried "$command"; done <<<"$commands" | sort -u)
