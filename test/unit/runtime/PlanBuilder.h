// Plans put together by hand, for tests.
#ifndef ZC_TEST_UNIT_RUNTIME_PLANBUILDER_H
#define ZC_TEST_UNIT_RUNTIME_PLANBUILDER_H

#include "runtime/Plan/Collective/Cost.h"
#include "runtime/Plan/Types.h"

namespace zc::test {

inline void setType(plan::TensorType *type, plan::DataType dtype,
                    const std::vector<int64_t> &dims) {
  type->set_dtype(dtype);
  for (int64_t dim : dims)
    type->add_dims(dim);
}

inline plan::State *addState(plan::Role &role, const std::string &name,
                             plan::StateKind kind, plan::DataType dtype,
                             const std::vector<int64_t> &dims,
                             uint64_t offset) {
  plan::State *state = role.add_states();
  state->set_name(name);
  state->set_kind(kind);
  setType(state->mutable_type(), dtype, dims);
  state->set_offset(offset);
  return state;
}

inline uint32_t addBuffer(plan::Program &program, plan::Space space,
                          uint64_t offset, plan::DataType dtype,
                          const std::vector<int64_t> &dims) {
  plan::Buffer *buffer = program.add_buffers();
  buffer->set_space(space);
  buffer->set_offset(offset);
  setType(buffer->mutable_type(), dtype, dims);
  buffer->set_memory_class(plan::ACTIVATIONS);
  return program.buffers_size() - 1;
}

/// All of a state in the persistent region.
inline void addBufferOf(plan::Program &program, const plan::State &state) {
  plan::Buffer *buffer = program.add_buffers();
  buffer->set_offset(state.offset());
  *buffer->mutable_type() = state.type();
  buffer->set_name(state.name());
}

inline void addInput(plan::Program &program, const std::string &name,
                     uint32_t buffer, bool label = false) {
  plan::Input *input = program.add_inputs();
  input->set_name(name);
  input->set_buffer(buffer);
  input->set_is_label(label);
}

inline void addMetric(plan::Program &program, const std::string &name,
                      uint32_t buffer) {
  plan::Output *output = program.add_outputs();
  output->set_name(name);
  output->set_buffer(buffer);
  output->set_kind(plan::METRIC);
  output->set_batch_dim(-1);
}

inline void addKernel(plan::Program &program, const std::string &symbol,
                      const std::vector<uint32_t> &buffers, uint32_t inputs,
                      int64_t grid) {
  plan::Instruction *instruction = program.add_instructions();
  instruction->set_label("test." + symbol);
  plan::KernelCall *call = instruction->mutable_kernel();
  call->set_symbol(symbol);
  for (uint32_t buffer : buffers)
    call->add_buffers(buffer);
  call->set_num_inputs(inputs);
  call->set_grid(grid);
}

/// A library call of an op without its dialect; attributes are marks.
inline plan::LibraryCall *addCall(plan::Program &program, const std::string &op,
                                  const std::vector<uint32_t> &inputs,
                                  const std::vector<uint32_t> &outputs,
                                  const std::vector<std::string> &marks = {}) {
  plan::Instruction *instruction = program.add_instructions();
  instruction->set_label("test." + op);
  plan::LibraryCall *call = instruction->mutable_library();
  call->set_op(op);
  call->mutable_inputs()->Add(inputs.begin(), inputs.end());
  call->mutable_outputs()->Add(outputs.begin(), outputs.end());
  for (const std::string &name : marks)
    call->add_attributes()->set_name(name);
  return call;
}

/// c = a b; `marks`: "transpose_lhs", "transpose_rhs".
inline plan::LibraryCall *
addMatmul(plan::Program &program, uint32_t a, uint32_t b, uint32_t c,
          uint32_t workspace, const std::vector<std::string> &marks = {}) {
  plan::LibraryCall *call = addCall(program, "matmul", {a, b}, {c}, marks);
  call->set_workspace(workspace);
  return call;
}

/// c += a b.
inline plan::LibraryCall *
addMatmulAdd(plan::Program &program, uint32_t a, uint32_t b, uint32_t c,
             uint32_t workspace, const std::vector<std::string> &marks = {}) {
  plan::LibraryCall *call =
      addCall(program, "matmul_add", {c, a, b}, {c}, marks);
  call->set_workspace(workspace);
  return call;
}

/// A collective along "dp", with the cost that it has.
inline plan::Instruction *
addCollective(plan::Program &program, plan::CollectiveKind kind,
              uint32_t source, uint32_t destination, int64_t ranks,
              plan::CollectiveAlgorithm algorithm = plan::AUTO) {
  plan::Instruction *instruction = program.add_instructions();
  instruction->set_label("test." + plan::CollectiveKind_Name(kind));
  plan::CollectiveCall *call = instruction->mutable_collective();
  call->set_kind(kind);
  call->add_axes("dp");
  call->set_source(source);
  call->set_destination(destination);
  call->set_algorithm(algorithm);
  const plan::TensorType &from = program.buffers(int(source)).type();
  const plan::TensorType &to = program.buffers(int(destination)).type();
  CollectiveCost cost =
      costOf({kind, algorithm, ranks,
              int64_t(std::max(*elementCount(from), *elementCount(to))),
              int64_t(elementBytes(from.dtype()))});
  call->set_sent_bytes(cost.sentBytes);
  call->set_steps(cost.steps);
  return instruction;
}

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_PLANBUILDER_H
