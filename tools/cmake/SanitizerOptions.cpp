// Settings of the sanitizers in zc's own programs, by whomever these are
// started; ASAN_OPTIONS and UBSAN_OPTIONS change them. For the preset `asan`.

#include <cstdlib>

// libMLIR and libLLVM are not instrumented: nobody marks what their code does
// to a container or an allocator that they share with zc's, which would be an
// alarm for nothing. A test's hook may be loaded ahead of the sanitizers.
extern "C" __attribute__((weak)) const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:"
         "verify_asan_link_order=0";
}

// Open MPI keeps memory of components that it has unloaded by the end.
extern "C" __attribute__((weak)) int __lsan_is_turned_off() {
  return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
}

extern "C" __attribute__((weak)) const char *__ubsan_default_options() {
  return "print_stacktrace=1";
}
