// Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop after its step or
// batch, the second ends the program at once, without a file half written.
#ifndef ZC_RUNTIME_DRIVER_SIGNALS_H
#define ZC_RUNTIME_DRIVER_SIGNALS_H

namespace zc {

/// Installs the handlers; also ignores SIGPIPE, so that a closed pipe is a
/// failed write and not the end of the program.
void installSignalHandlers();

/// The signal that asked to stop, or 0.
int stopSignal();

} // namespace zc

#endif // ZC_RUNTIME_DRIVER_SIGNALS_H
