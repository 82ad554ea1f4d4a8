//===- InspectOps.cpp - instructions and kernels, counted -----------------===//
#include "compiler/Export/Inspect.h"
#include "runtime/Plan/InstructionKind.h"
#include "runtime/Plan/Target.h"
#include "runtime/Plan/Verify.h"

#include <set>

namespace zc {

std::string getKind(const plan::Instruction &instruction) {
  const std::string kind = kindOf(instruction);
  return kind.empty() ? "unknown" : kind;
}

std::string nameProgram(const plan::Manifest &manifest, int role,
                        const plan::Program &program) {
  return manifest.roles_size() < 2
             ? program.name()
             : "role" + std::to_string(role) + "." + program.name();
}

OpsReport countOps(const plan::Manifest &manifest) {
  OpsReport report;
  std::set<std::string> symbols, ofDevice;
  for (int role = 0; role < manifest.roles_size(); ++role)
    for (const plan::Program &program : manifest.roles(role).programs()) {
      auto &kinds = report.byProgram[nameProgram(manifest, role, program)];
      auto &flops = report.flops[nameProgram(manifest, role, program)];
      for (const plan::Instruction &instruction : program.instructions()) {
        ++report.byKind[getKind(instruction)];
        ++kinds[getKind(instruction)];
        flops[getKind(instruction)] += instruction.flops();
        if (!instruction.has_kernel())
          continue;
        symbols.insert(instruction.kernel().symbol());
        if (!isOnHost(instruction))
          ofDevice.insert(instruction.kernel().symbol());
      }
    }
  report.kernels = symbols.size();
  report.ptxEntries = runsOnHost(manifest.target()) ? 0 : ofDevice.size();
  return report;
}

} // namespace zc
