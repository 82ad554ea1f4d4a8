// Definitions that Debian's libprotobuf.a lacks to be a part of a shared
// library: it is compiled for programs alone.
//
// Arenas: their allocator is in thread-local memory that only programs may use
// (relocations R_X86_64_TPOFF32 of arena.o). The runtime makes no arena, so
// this file defines the symbols that the rest of the library asks arena.o for;
// a call of one means that there is an arena, and ends the process.
//
// The standard error stream: only programs may reach it as common.o does.
// CMakeLists.txt makes a copy of the library that asks for a variable of ours.
#include <google/protobuf/arena.h>

#include <cstdio>
#include <cstdlib>

#if GOOGLE_PROTOBUF_VERSION / 1000 != 3021
#error "of another Protobuf than 3.21: look at what its arena.o defines"
#endif

extern "C" FILE *zcProtobufErrors;
FILE *zcProtobufErrors = stderr;

namespace google::protobuf {

void *Arena::AllocateAlignedWithHook(size_t, const std::type_info *) {
  std::abort();
}
void *Arena::AllocateAlignedWithHookForArray(size_t, const std::type_info *) {
  std::abort();
}
std::pair<void *, internal::SerialArena::CleanupNode *>
Arena::AllocateAlignedWithCleanup(size_t, const std::type_info *) {
  std::abort();
}

namespace internal {

__thread ThreadSafeArena::ThreadCache ThreadSafeArena::thread_cache_ = {
    0, uint64_t(-1), nullptr};

ThreadSafeArena::~ThreadSafeArena() { std::abort(); }
void ThreadSafeArena::AddCleanup(void *, void (*)(void *)) { std::abort(); }
uint64_t ThreadSafeArena::SpaceAllocated() const { std::abort(); }
uint64_t ThreadSafeArena::SpaceUsed() const { std::abort(); }

} // namespace internal
} // namespace google::protobuf
