// Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop after its step or
// batch, the second ends the program at once, without a file half written.
// Before a run has begun, the first does.
#ifndef ZC_RUNTIME_DRIVER_SIGNALS_H
#define ZC_RUNTIME_DRIVER_SIGNALS_H

namespace zc {

/// Installs the handlers; also ignores SIGPIPE, so that a closed pipe is a
/// failed write and not the end of the program.
void installSignalHandlers();

/// From here on there is nothing that had to be finished first: a signal ends
/// the program, whatever it waits for (other ranks, a launcher, a disk), says
/// so and has it exit with 128 + its number. One that has come before does so
/// now.
void endOnSignals();

/// From here on a signal asks to stop, and is heard of by `stopSignal`. It
/// also tells the user `what` follows ("stops after this step"), which may take
/// as long as another rank hangs; null: this rank says nothing. `what` must
/// last.
void finishOnSignals(const char *what);

/// The signal that asked to stop, or 0.
int stopSignal();

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SIGNALS_H
