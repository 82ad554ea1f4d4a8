#include "kernels/Cpu/OneDnn.h"

namespace zc::kernels::onednn {

dnnl::engine &cpuEngine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type dataType(ElementType type) {
  using Type = dnnl::memory::data_type;
  switch (type) {
  case ElementType::F32:
    return Type::f32;
  case ElementType::F16:
    return Type::f16;
  case ElementType::BF16:
    return Type::bf16;
  case ElementType::I32:
    return Type::s32;
  case ElementType::I8:
    return Type::s8;
  case ElementType::U8:
    return Type::u8;
  default:
    return Type::undef;
  }
}

dnnl::memory::desc describe(const StridedTensor &tensor) {
  return dnnl::memory::desc(tensor.dims, dataType(tensor.type), tensor.strides);
}

dnnl::memory unbound(const dnnl::memory::desc &desc) {
  return dnnl::memory(desc, cpuEngine(), DNNL_MEMORY_NONE);
}

void bind(dnnl::memory &memory, void *pointer) {
  if (memory.get_data_handle() != pointer)
    memory.set_data_handle(pointer);
}

static const char *typeName(ElementType type) {
  static const char *const names[] = {"f32", "f64", "f16", "bf16", "bool",
                                      "i8",  "u8",  "i16", "u16",  "i32",
                                      "u32", "i64", "u64"};
  return names[static_cast<int>(type)];
}

static std::string printList(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string print(const StridedTensor &tensor) {
  return std::string(typeName(tensor.type)) + " " + printList(tensor.dims) +
         " strides " + printList(tensor.strides);
}

} // namespace zc::kernels::onednn
