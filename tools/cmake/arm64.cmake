# The runtime for 64-bit ARM, built on another machine: Debian's cross compiler
# and the libraries that tools/arm64 has put into ZC_DEPS_DIR/arm64. Tests run
# under qemu's user emulation of a board's processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(zc_deps "$ENV{ZC_DEPS_DIR}")
if(NOT zc_deps AND DEFINED ENV{XDG_CACHE_HOME})
  set(zc_deps "$ENV{XDG_CACHE_HOME}/zc")
elseif(NOT zc_deps)
  set(zc_deps "$ENV{HOME}/.cache/zc")
endif()
set(zc_root ${zc_deps}/arm64)
set(CMAKE_FIND_ROOT_PATH ${zc_root} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Debian's zlib is in /lib, which is /usr/lib of an installed system alone.
set(zc_libraries ${zc_root}/usr/lib/aarch64-linux-gnu:${zc_root}/lib/aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${zc_libraries}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,${zc_libraries}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${zc_libraries}")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -cpu cortex-a76 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${zc_libraries})
