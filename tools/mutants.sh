#!/bin/sh
# Changes the code that turns packets into numbers and numbers into verdicts, one place at a time,
# and runs its tests; docs/explanation/testing.md explains what survives. $1 is the folder of .venv's programs.
# A tool that is absent is skipped, with the reason.
set -eu
bin=$1
out=target/mutants

if cargo mutants --version >/dev/null 2>&1; then
    mkdir -p "$out/rust"
    # .cargo/mutants.toml says which files. Status 2 and 3 stand for survivors and timeouts.
    cargo mutants --output "$out/rust" || [ $? -le 3 ]
else
    echo 'Rust skipped: cargo-mutants is not installed (cargo install cargo-mutants --locked)' >&2
fi

if "$bin/python" -c 'import mutmut.version' 2>/dev/null || [ -x "$bin/mutmut" ]; then
    # mutmut wants the package beside its tests; pyproject.toml says which files.
    rm -rf "$out/python"
    mkdir -p "$out/python"
    cp -r python/aqmlab tests pyproject.toml "$out/python"
    (cd "$out/python" && "$OLDPWD/$bin/mutmut" run --max-children 1 && "$OLDPWD/$bin/mutmut" results)
else
    echo "Python skipped: mutmut is not installed ($bin/pip install mutmut)" >&2
fi
