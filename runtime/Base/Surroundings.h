// Prepares a process for closed streams, full files and scarce memory.
#ifndef ZC_RUNTIME_BASE_SURROUNDINGS_H
#define ZC_RUNTIME_BASE_SURROUNDINGS_H

namespace zc {

/// Called first of all by `program`, whose messages begin with that name:
///  - descriptors 0 to 2 that are closed are opened on /dev/null, so that no
///    file of ours gets their number and what is printed into it;
///  - a file that may not grow is an error to report, not a signal;
///  - memory that is not to be had ends the program with a message and exit
///    code 1, whichever library asked for it;
///  - so does a mapped file that another program cuts short.
void prepareForSurroundings(const char *program);

/// Has memory run out, with that message, a little below what the least control
/// group allows, beyond which the kernel kills without a word. Does nothing
/// where there is no such limit, or where more is taken already (by
/// sanitizers).
void keepToControlGroup();

/// Before one thread for each processor begins: their stacks, of which little
/// is ever used, do not count for that.
void makeRoomForStacks();

/// For a program that this process becomes: as if that had not been called.
void leaveControlGroupAlone();

/// "PROGRAM: error: out of memory", and the end. For libraries that tell of it
/// by a function of their own.
[[noreturn]] void endOutOfMemory();

} // namespace zc

#endif // ZC_RUNTIME_BASE_SURROUNDINGS_H
