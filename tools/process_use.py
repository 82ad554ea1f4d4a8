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


def read_seconds(folder):
    """Processor time by the file `stat` of a process or a thread."""
    fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def seconds_of(pid):
    """Processor time that a process has taken."""
    return read_seconds(pathlib.Path(f"/proc/{pid}"))


def seconds_of_thread(pid, name):
    """Processor time that the process's threads of this name have taken."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        try:
            if (task / "comm").read_text().strip() == name:
                total += read_seconds(task)
        except OSError:
            pass  # it has ended meanwhile
    return total
