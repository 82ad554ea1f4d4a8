"""A step's time against the memory it may take: the same model compiled for
budgets between the least that any plan needs and what it takes without one."""
from plot import plot

STEPS = 9  # budgets
MIB = 1 << 20


def run(plan, measure, path):
    """Print a table and write the plot. `plan(*options)` gives the bytes that a
    compile with these options plans; `measure(*options)` what it plans, a
    step's milliseconds and the process's largest resident MiB."""
    most = plan("--recompute", "none")
    least = min(plan("--recompute", policy)
                for policy in ("layer", "sqrt", "full"))
    print("| budget, MiB | planned, MiB | resident, MiB | step, ms |")
    print("| --- " * 4 + "|", flush=True)
    budgets, plans, times = [], [], []
    for index in range(STEPS):
        budget = least + (most - least) * index // (STEPS - 1)
        planned, step, resident = measure("--memory-budget", budget)
        budgets.append(round(budget / MIB))
        plans.append(planned / MIB)
        times.append(step)
        print(f"| {budget / MIB:.0f} | {planned / MIB:.0f} | {resident:.0f} | "
              f"{step:.0f} |", flush=True)
    path.write_text(plot([("budget, MiB", "step, ms", budgets, times),
                          ("budget, MiB", "planned, MiB", budgets, plans)],
                         breadth=380), encoding="utf-8")
