"""Virtual environments with pinned packages for the tests of this folder."""

import fcntl
import subprocess
import sys
import venv

INSTALL_SECONDS = 600


def furnish(scratch, packages):
    """A virtual environment below the scratch folder that has these packages; its Python."""
    name = "".join(letter if letter.isalnum() or letter in ".-" else "_" for letter in "-".join(packages))
    home = scratch / f"venv-{name}"
    python, ready = home / "bin" / "python", home / "ready"
    scratch.mkdir(parents=True, exist_ok=True)
    with open(scratch / f"venv-{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            venv.create(home, with_pip=True, clear=True)
            words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run([python, *words], check=True, timeout=INSTALL_SECONDS, stdout=sys.stderr)
            ready.touch()
    return python
