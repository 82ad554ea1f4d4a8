"""The resources that a process takes, for the scripts that train for a long
time."""
import pathlib


def use_of(pid):
    """Resident KiB and open descriptors; None: it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return (int(status.split("VmRSS:")[1].split()[0]),
                len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())))
    except (OSError, IndexError):
        return None
