"""The resources that a process takes, for the scripts that train for a long
time."""
import os
import pathlib

TICKS = os.sysconf("SC_CLK_TCK")


def use_of(pid):
    """Resident KiB and open descriptors; None: it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return (int(status.split("VmRSS:")[1].split()[0]),
                len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir())))
    except (OSError, IndexError):
        return None


def seconds_of_thread(pid, name):
    """Processor time that the process's threads of this name have taken."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            if (task / "comm").read_text().strip() == name:
                fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / TICKS
        except OSError:
            pass  # it has ended meanwhile
    return total
