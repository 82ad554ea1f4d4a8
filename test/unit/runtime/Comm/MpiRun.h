// Processes of mpirun that run MessagesMain.cpp, where there is MPI.
#ifndef ZC_TEST_UNIT_RUNTIME_COMM_MPIRUN_H
#define ZC_TEST_UNIT_RUNTIME_COMM_MPIRUN_H

#ifdef ZC_TEST_MESSAGES
#include <cstdio>
#include <string>

namespace zc::test {

/// The output of so many processes; `arguments` are MessagesMain's.
inline std::string runByMpi(int ranks, const std::string &arguments) {
  std::string command =
      "ZC_PLUGIN_PATH='" ZC_MPI_FOLDER "' OMPI_ALLOW_RUN_AS_ROOT=1 "
      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 '" ZC_MPIRUN "' -n " +
      std::to_string(ranks) + " '" ZC_TEST_MESSAGES "' " + arguments + " 2>&1";
  std::FILE *pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, count);
  ::pclose(pipe);
  return text;
}

} // namespace zc::test
#endif

#endif // ZC_TEST_UNIT_RUNTIME_COMM_MPIRUN_H
