#include "runtime/Plan/StepPhases.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/LibraryCalls.h"
#include "runtime/Plan/ProgramNames.h"

namespace zc {

const char *nameOf(StepPhase phase) {
  switch (phase) {
  case StepPhase::Forward:
    return "forward";
  case StepPhase::Backward:
    return "backward";
  case StepPhase::Optimizer:
    return "optimizer";
  }
  return "";
}

namespace {

bool startsWith(const std::string &text, const char *prefix) {
  return text.rfind(prefix, 0) == 0;
}

/// Sums of losses are kept as gradients are, and are none.
bool isGradient(const plan::Buffer &buffer) {
  return buffer.memory_class() == plan::GRADIENTS &&
         !startsWith(buffer.name(), "accumulated.loss");
}

/// The learning rate, the number of the step, and other numbers of updates.
bool isUpdateScalar(const plan::Buffer &buffer) {
  return buffer.name() == "lr" || startsWith(buffer.name(), "optimizer.") ||
         startsWith(buffer.name(), kSettingPrefix);
}

/// The phase of a program's first instructions.
StepPhase phaseOf(const std::string &base) {
  if (base == programs::kApply || base == programs::kCompressedApply)
    return StepPhase::Optimizer;
  return base == programs::kBackward || base == programs::kWeights
             ? StepPhase::Backward
             : StepPhase::Forward;
}

class Phases {
public:
  explicit Phases(const plan::Program &program) : program(program) {}

  std::vector<StepPhase> find() const {
    std::vector<StepPhase> phases;
    StepPhase phase = phaseOf(ProgramName::parse(program.name()).base);
    for (const plan::Instruction &instruction : program.instructions()) {
      if (phase == StepPhase::Forward && makesGradient(instruction))
        phase = StepPhase::Backward;
      phases.push_back(isOfUpdate(instruction) ? StepPhase::Optimizer : phase);
    }
    return phases;
  }

private:
  const plan::Buffer &buffer(uint32_t index) const {
    return program.buffers(int(index));
  }

  bool makesGradient(const plan::Instruction &instruction) const {
    // Operators' gradients are called so: "train.gelu_grad".
    const std::string &label = instruction.label();
    const std::string operators = label.substr(0, label.find(' '));
    if (operators.find("_grad") != std::string::npos)
      return true;
    if (instruction.library().op().find("_grad") != std::string::npos)
      return true;
    if (isCall<kernels::MatmulCall>(instruction))
      return isGradient(buffer(instruction.library().outputs(0)));
    return instruction.has_kernel() && writes(instruction.kernel(), isGradient);
  }

  template <typename Predicate>
  bool writes(const plan::KernelCall &call, Predicate predicate) const {
    return anyOf(call, int(call.num_inputs()), call.buffers_size(), predicate);
  }

  template <typename Predicate>
  bool anyOf(const plan::KernelCall &call, int begin, int end,
             Predicate predicate) const {
    for (int i = begin; i < end; ++i)
      if (predicate(buffer(call.buffers(i))))
        return true;
    return false;
  }

  /// New parameters and moments, and what is made of whole gradients: a norm.
  bool isOfUpdate(const plan::Instruction &instruction) const {
    if (!instruction.has_kernel())
      return false;
    const plan::KernelCall &call = instruction.kernel();
    const int inputs = int(call.num_inputs());
    if (anyOf(call, 0, call.buffers_size(), isUpdateScalar))
      return true;
    if (writes(call, [](const plan::Buffer &each) {
          return each.memory_class() == plan::OPTIMIZER_STATE ||
                 (each.memory_class() == plan::PARAMETERS &&
                  each.space() == plan::PERSISTENT);
        }))
      return true;
    return anyOf(call, 0, inputs, isGradient) &&
           !writes(call, [](const plan::Buffer &each) {
             return each.memory_class() == plan::GRADIENTS ||
                    each.memory_class() == plan::COMMUNICATION;
           });
  }

  const plan::Program &program;
};

} // namespace

std::vector<StepPhase> phasesOf(const plan::Program &program) {
  return Phases(program).find();
}

} // namespace zc
