#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

constexpr int64_t kMaxDim = int64_t(1) << 40;

Result<const plan::Buffer *> anyBufferAt(const plan::Program &program,
                                         uint32_t index) {
  if (index >= uint32_t(program.buffers_size()))
    return bad("there is no buffer ", index);
  return &program.buffers(index);
}

/// One that the device reaches.
Result<const plan::Buffer *> bufferAt(const plan::Program &program,
                                      uint32_t index) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer, anyBufferAt(program, index));
  if (isOffloaded(*buffer))
    return bad("buffer ", index, " is offloaded");
  return buffer;
}

Status verifyKernel(const plan::Program &program,
                    const plan::KernelCall &call) {
  auto inSymbol = [](char c) {
    return c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const std::string &symbol = call.symbol();
  if (symbol.empty() || !std::all_of(symbol.begin(), symbol.end(), inSymbol))
    return bad("'", symbol, "' is no symbol");
  if (call.num_inputs() > uint32_t(call.buffers_size()))
    return bad("it has ", call.num_inputs(), " inputs among ",
               call.buffers_size(), " buffers");
  if (call.grid() <= 0)
    return bad("its grid is ", call.grid());
  for (uint32_t index : call.buffers())
    ZC_RETURN_IF_ERROR(bufferAt(program, index).status());
  return Status();
}

/// Every element of the operand lies within its buffer.
Status verifyOperand(const plan::Program &program,
                     const plan::StridedOperand &operand, const char *name) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer,
                      bufferAt(program, operand.buffer()));
  if (operand.dims_size() != operand.strides_size())
    return bad(name, " has ", operand.dims_size(), " dims and ",
               operand.strides_size(), " strides");
  uint64_t last = 0;
  for (int i = 0; i < operand.dims_size(); ++i) {
    int64_t dim = operand.dims(i), stride = operand.strides(i);
    uint64_t reach;
    if (dim < 1 || dim > kMaxDim || stride < 0 ||
        __builtin_mul_overflow(uint64_t(dim - 1), uint64_t(stride), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return bad(name, " has dims ", printDims(operand.dims()), ", strides ",
                 printDims(operand.strides()));
  }
  uint64_t elements = *elementCount(buffer->type());
  if (last >= elements)
    return bad(name, " reaches element ", last, " of a buffer of ", elements);
  return Status();
}

/// An image or a filter: no more elements than its buffer has.
Status verifyImage(const plan::Program &program,
                   const plan::StridedOperand &operand, const char *name) {
  ZC_RETURN_IF_ERROR(verifyOperand(program, operand, name));
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer,
                      bufferAt(program, operand.buffer()));
  uint64_t elements = *elementCount(buffer->type()), count = 1;
  for (int64_t dim : operand.dims())
    if (__builtin_mul_overflow(count, uint64_t(dim), &count) ||
        count > elements)
      return bad(name, " is ", printDims(operand.dims()), " of a buffer of ",
                 elements, " elements");
  return Status();
}

Status verifyWorkspace(const plan::Program &program, uint32_t index) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer, bufferAt(program, index));
  if (buffer->type().dtype() != plan::U8 || buffer->type().dims_size() != 1)
    return bad("its workspace is ", printType(buffer->type()));
  if (buffer->offset() % kBufferAlignment != 0)
    return bad("its workspace begins at ", buffer->offset());
  return Status();
}

plan::DataType typeOf(const plan::Program &program,
                      const plan::StridedOperand &operand) {
  return program.buffers(operand.buffer()).type().dtype();
}

bool isMatrixType(plan::DataType type) {
  return type == plan::F32 || type == plan::BF16 || type == plan::F16;
}

/// A bit for every element of the product, in whole rows of 16 bytes as the
/// library has them.
Status verifySigns(const plan::Program &program, const plan::MatmulCall &call,
                   uint32_t index) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer, bufferAt(program, index));
  const plan::TensorType &type = buffer->type();
  int64_t m = call.c().dims(0), n = call.c().dims(1);
  bool bytes = type.dtype() == plan::I8 || type.dtype() == plan::U8;
  if (!bytes || n % 128 != 0 || int64_t(*elementCount(type)) != m * (n / 8))
    return bad("its bits are ", printType(type), ", of a product ",
               printDims(call.c().dims()));
  return Status();
}

/// A dense operand of the epilogue, of c's type.
Status verifyPart(const plan::Program &program, const plan::MatmulCall &call,
                  uint32_t index, std::initializer_list<int64_t> dims,
                  const char *name) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *buffer, bufferAt(program, index));
  const plan::TensorType &type = buffer->type();
  int64_t expected = 1;
  for (int64_t dim : dims)
    expected *= dim;
  if (type.dtype() != typeOf(program, call.c()) ||
      int64_t(*elementCount(type)) != expected)
    return bad("its ", name, " is ", printType(type), ", of a product ",
               printDims(call.c().dims()));
  return Status();
}

Status verifyEpilogue(const plan::Program &program,
                      const plan::MatmulCall &call) {
  const plan::MatmulEpilogue &epilogue = call.epilogue();
  if (call.c().dims_size() != 2 || call.c().strides(1) != 1 ||
      call.c().strides(0) != call.c().dims(1))
    return bad("it has an epilogue on ", printDims(call.c().dims()));
  int64_t m = call.c().dims(0), n = call.c().dims(1);
  auto verify = [&](bool has, uint32_t buffer,
                    std::initializer_list<int64_t> dims, const char *name) {
    return has ? verifyPart(program, call, buffer, dims, name) : Status();
  };
  ZC_RETURN_IF_ERROR(
      verify(epilogue.has_addend(), epilogue.addend(), {m, n}, "addend"));
  ZC_RETURN_IF_ERROR(verify(epilogue.has_bias(), epilogue.bias(), {n}, "bias"));
  bool ofRelu = epilogue.activation() == plan::RELU ||
                epilogue.activation() == plan::RELU_GRADIENT;
  if (ofRelu && epilogue.has_auxiliary())
    ZC_RETURN_IF_ERROR(verifySigns(program, call, epilogue.auxiliary()));
  else
    ZC_RETURN_IF_ERROR(verify(epilogue.has_auxiliary(), epilogue.auxiliary(),
                              {m, n}, "auxiliary tensor"));
  ZC_RETURN_IF_ERROR(verify(epilogue.has_column_sums(), epilogue.column_sums(),
                            {n}, "column sums"));
  ZC_RETURN_IF_ERROR(verify(epilogue.has_lhs_sums(), epilogue.lhs_sums(), {m},
                            "sums of rows"));
  ZC_RETURN_IF_ERROR(verify(epilogue.has_rhs_sums(), epilogue.rhs_sums(), {n},
                            "sums of columns"));
  bool gradient = epilogue.activation() == plan::GELU_GRADIENT ||
                  epilogue.activation() == plan::RELU_GRADIENT;
  int sums = epilogue.has_column_sums() + epilogue.has_lhs_sums() +
             epilogue.has_rhs_sums();
  bool fits = gradient ? epilogue.has_auxiliary() && !epilogue.has_bias()
                       : !epilogue.has_auxiliary() || ofRelu ||
                             epilogue.activation() == plan::GELU;
  // The library leaves sums of a factor where a bias would be.
  bool sumsFactor = epilogue.has_lhs_sums() || epilogue.has_rhs_sums();
  if (sumsFactor)
    fits = epilogue.activation() == plan::LINEAR && !epilogue.has_bias();
  if (!fits || !plan::MatmulActivation_IsValid(epilogue.activation()) ||
      sums > 1 || (epilogue.has_column_sums() && !gradient) ||
      (epilogue.has_addend() && call.accumulate()))
    return bad("the parts of its epilogue do not go together");
  return Status();
}

Status verifyMatmul(const plan::Program &program,
                    const plan::MatmulCall &call) {
  ZC_RETURN_IF_ERROR(verifyOperand(program, call.a(), "a"));
  ZC_RETURN_IF_ERROR(verifyOperand(program, call.b(), "b"));
  ZC_RETURN_IF_ERROR(verifyOperand(program, call.c(), "c"));
  const auto &a = call.a().dims(), &b = call.b().dims(), &c = call.c().dims();
  int rank = c.size();
  bool sound = rank >= 2 && rank <= 6 && a.size() == rank && b.size() == rank;
  for (int i = 0; sound && i < rank - 2; ++i)
    sound = a[i] == c[i] && b[i] == c[i];
  if (!sound || a[rank - 2] != c[rank - 2] || b[rank - 1] != c[rank - 1] ||
      a[rank - 1] != b[rank - 2])
    return bad("it multiplies ", printDims(a), " by ", printDims(b), " into ",
               printDims(c));
  for (int i = 0; i < rank; ++i) // so that there are no more than its elements
    if (c[i] > 1 && call.c().strides(i) == 0)
      return bad("dim ", i, " of its result has a stride of 0");
  plan::DataType type = typeOf(program, call.a());
  plan::DataType result = typeOf(program, call.c());
  if (!isMatrixType(type) || typeOf(program, call.b()) != type ||
      (result != type && result != plan::F32))
    return bad("it multiplies ", typeName(type), " by ",
               typeName(typeOf(program, call.b())), " into ", typeName(result));
  if (call.has_epilogue())
    ZC_RETURN_IF_ERROR(verifyEpilogue(program, call));
  if (call.has_workspace())
    ZC_RETURN_IF_ERROR(verifyWorkspace(program, call.workspace()));
  return Status();
}

/// One spatial dim of a convolution: all sizes agree.
bool spatialDimAgrees(const plan::ConvolutionCall &call, int i) {
  auto inRange = [](int64_t value, int64_t least) {
    return value >= least && value <= kMaxDim;
  };
  int64_t stride = call.strides(i), dilation = call.dilations(i);
  int64_t low = call.pads_low(i), high = call.pads_high(i);
  if (!inRange(stride, 1) || !inRange(dilation, 1) || !inRange(low, 0) ||
      !inRange(high, 0))
    return false;
  __int128 source = call.source().dims(i + 2);
  __int128 extent = __int128(dilation) * (call.filter().dims(i + 2) - 1) + 1;
  __int128 slack = source + low + high - extent;
  return slack >= 0 && slack / stride + 1 == call.destination().dims(i + 2);
}

Status verifyConvolution(const plan::Program &program,
                         const plan::ConvolutionCall &call) {
  if (!plan::ConvolutionKind_IsValid(call.kind()))
    return bad("it is of no kind");
  ZC_RETURN_IF_ERROR(verifyImage(program, call.source(), "the source"));
  ZC_RETURN_IF_ERROR(verifyImage(program, call.filter(), "the filter"));
  ZC_RETURN_IF_ERROR(
      verifyImage(program, call.destination(), "the destination"));
  const auto &source = call.source().dims(), &filter = call.filter().dims(),
             &destination = call.destination().dims();
  int rank = source.size();
  bool sound =
      rank >= 3 && rank <= 5 && filter.size() == rank &&
      destination.size() == rank && call.groups() >= 1 &&
      call.strides_size() == rank - 2 && call.dilations_size() == rank - 2 &&
      call.pads_low_size() == rank - 2 && call.pads_high_size() == rank - 2;
  sound = sound && source[0] == destination[0] && filter[0] == destination[1] &&
          filter[0] % call.groups() == 0 && source[1] % call.groups() == 0 &&
          source[1] / call.groups() == filter[1];
  for (int i = 0; sound && i < rank - 2; ++i)
    sound = spatialDimAgrees(call, i);
  if (!sound)
    return bad("it convolves ", printDims(source), " with ", printDims(filter),
               " into ", printDims(destination), " in ", call.groups(),
               " groups");
  plan::DataType type = typeOf(program, call.source());
  if (!isMatrixType(type) || typeOf(program, call.filter()) != type ||
      typeOf(program, call.destination()) != type)
    return bad("its operands have different or unsuitable types");
  if (call.has_workspace())
    ZC_RETURN_IF_ERROR(verifyWorkspace(program, call.workspace()));
  return Status();
}

Status verifyPooling(const plan::Program &program,
                     const plan::PoolingCall &call) {
  ZC_RETURN_IF_ERROR(verifyImage(program, call.image(), "the image"));
  ZC_RETURN_IF_ERROR(verifyImage(program, call.pooled(), "what is pooled"));
  if (!plan::PoolingKind_IsValid(call.kind()))
    return bad("it is of no kind");
  const auto &image = call.image().dims(), &pooled = call.pooled().dims();
  int rank = image.size();
  bool sound =
      (rank == 4 || rank == 5) && pooled.size() == rank &&
      call.window_size() == rank - 2 && call.strides_size() == rank - 2 &&
      call.pads_low_size() == rank - 2 && call.pads_high_size() == rank - 2 &&
      image[0] == pooled[0] && image[1] == pooled[1];
  for (int i = 0; sound && i < rank - 2; ++i) {
    int64_t window = call.window(i), stride = call.strides(i),
            low = call.pads_low(i), high = call.pads_high(i);
    sound = window >= 1 && window <= kMaxDim && stride >= 1 && low >= 0 &&
            high >= 0 && low < window && high < window &&
            image[i + 2] + low + high >= window &&
            (image[i + 2] + low + high - window) / stride + 1 == pooled[i + 2];
  }
  if (!sound)
    return bad("it pools ", printDims(image), " in windows ",
               printDims(call.window()), " to ", printDims(pooled));
  plan::DataType type = typeOf(program, call.image());
  if (!isMatrixType(type) || typeOf(program, call.pooled()) != type)
    return bad("its operands have different or unsuitable types");
  return Status();
}

/// Operands have the image's type and dims, or one number per channel.
Status verifyNorm(const plan::Program &program, const plan::NormCall &call) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *image,
                      bufferAt(program, call.image()));
  const plan::TensorType &type = image->type();
  int rank = type.dims_size();
  bool narrow = type.dtype() == plan::BF16 || type.dtype() == plan::F16;
  if (!narrow || rank < 4 || rank > 5 ||
      (call.has_addend() && call.has_gradient()))
    return bad("it normalises ", printType(type));
  auto verify = [&](uint32_t index, bool isImage, const char *name) {
    Result<const plan::Buffer *> buffer = bufferAt(program, index);
    if (!buffer.ok())
      return buffer.status();
    const plan::TensorType &own = (*buffer)->type();
    const auto &dims = own.dims();
    bool sound = isImage
                     ? own.dtype() == type.dtype() &&
                           std::equal(dims.begin(), dims.end(),
                                      type.dims().begin(), type.dims().end())
                     : own.dtype() == plan::F32 && dims.size() == 1 &&
                           dims[0] == type.dims(rank - 1);
    return sound ? Status()
                 : bad("its ", name, " is ", printType(own), ", of images ",
                       printType(type));
  };
  ZC_RETURN_IF_ERROR(verify(call.scale(), false, "scale"));
  ZC_RETURN_IF_ERROR(verify(call.bias(), false, "bias"));
  ZC_RETURN_IF_ERROR(verify(call.mean(), false, "mean"));
  ZC_RETURN_IF_ERROR(verify(call.inverse(), false, "inverse deviation"));
  ZC_RETURN_IF_ERROR(verify(call.result(), true, "result"));
  if (call.has_addend())
    ZC_RETURN_IF_ERROR(verify(call.addend(), true, "addend"));
  if (call.has_gradient()) {
    const plan::NormCall::Gradient &gradient = call.gradient();
    ZC_RETURN_IF_ERROR(verify(gradient.grad(), true, "gradient"));
    ZC_RETURN_IF_ERROR(verify(gradient.scale_grad(), false, "scale_grad"));
    ZC_RETURN_IF_ERROR(verify(gradient.bias_grad(), false, "bias_grad"));
  }
  return verifyWorkspace(program, call.workspace());
}

/// Checks a mask that is added to the scores of `q` over `k`, or holds the last
/// key of each query.
template <typename Dims>
Status verifyMask(const plan::AttentionCall &call, const plan::TensorType &mask,
                  plan::DataType element, const Dims &q, const Dims &k) {
  const auto &dims = mask.dims();
  const bool saysLastKeys = mask.dtype() == plan::I64 && !call.causal();
  const int64_t full[] = {q[0], q[2], q[1], k[1]};
  bool sound = dims.size() == 4 && (saysLastKeys || mask.dtype() == element);
  for (int i = 0; sound && i < 4; ++i)
    sound = saysLastKeys ? dims[i] == (i == 2 ? q[1] : 1)
                         : dims[i] == full[i] || (i < 3 && dims[i] == 1);
  if (sound)
    return Status();
  return bad("its attention of ", printDims(q), " over ", printDims(k),
             " has a mask ", printDims(dims));
}

/// q, k, v and so on, by their places in the call.
Status verifyAttention(const plan::Program &program,
                       const plan::AttentionCall &call) {
  int count = call.buffers_size();
  if (call.backward() ? count < 7 || count > 9 : count < 4 || count > 5)
    return bad("its attention has ", count, " buffers");
  for (uint32_t index : call.buffers())
    ZC_RETURN_IF_ERROR(bufferAt(program, index).status());
  auto type = [&](int i) -> const plan::TensorType & {
    return program.buffers(static_cast<int>(call.buffers(i))).type();
  };
  plan::DataType element = type(0).dtype();
  if (!isMatrixType(element))
    return bad("its attention is of ", typeName(element));
  auto hasDims = [&](int i, std::initializer_list<int64_t> dims) {
    return type(i).dtype() == (i == 4 ? plan::F32 : element) &&
           std::equal(dims.begin(), dims.end(), type(i).dims().begin(),
                      type(i).dims().end());
  };
  const auto &q = type(0).dims(), &k = type(1).dims();
  bool sound = q.size() == 4 && k.size() == 4;
  for (int i = 0; sound && i < count; ++i) {
    bool ofKeys = i == 1 || i == 2 || i == 7 || i == 8;
    sound = i == 4 ? hasDims(i, {q[0], q[2], q[1]})
                   : hasDims(i, {q[0], ofKeys ? k[1] : q[1], q[2], q[3]});
  }
  if (!sound)
    return bad("its attention of ", printDims(q), " over ", printDims(k),
               " has buffers that do not fit");
  if (call.has_mask()) {
    ZC_ASSIGN_OR_RETURN(const plan::Buffer *mask,
                        bufferAt(program, call.mask()));
    ZC_RETURN_IF_ERROR(verifyMask(call, mask->type(), element, q, k));
  }
  return verifyWorkspace(program, call.workspace());
}

Status verifySparse(const plan::Program &program,
                    const plan::SparseCall &call) {
  constexpr int64_t kBlock = 4096;
  for (uint32_t index :
       {call.dense(), call.bits(), call.offsets(), call.values()})
    ZC_RETURN_IF_ERROR(bufferAt(program, index).status());
  auto type = [&](uint32_t index) -> const plan::TensorType & {
    return program.buffers(static_cast<int>(index)).type();
  };
  auto isVector = [&](uint32_t index, plan::DataType dtype, int64_t size) {
    return type(index).dtype() == dtype && type(index).dims_size() == 1 &&
           (size < 0 || type(index).dims(0) == size);
  };
  const plan::TensorType &dense = type(call.dense());
  int64_t elements = 1;
  for (int64_t size : dense.dims())
    elements *= size;
  bool suits = dense.dtype() == plan::F32 || dense.dtype() == plan::BF16 ||
               dense.dtype() == plan::F16;
  if (!suits || !isVector(call.bits(), plan::I8, (elements + 7) / 8) ||
      !isVector(call.offsets(), plan::I64,
                (elements + kBlock - 1) / kBlock + 1) ||
      !isVector(call.values(), dense.dtype(), -1))
    return bad("its sparse ", printType(dense), " has parts that do not fit");
  return Status();
}

Status verifyGroupedMatmul(const plan::Program &program,
                           const plan::GroupedMatmulCall &call) {
  for (uint32_t index :
       {call.a(), call.b(), call.c(), call.groups(), call.ids()})
    ZC_RETURN_IF_ERROR(bufferAt(program, index).status());
  auto type = [&](uint32_t index) -> const plan::TensorType & {
    return program.buffers(static_cast<int>(index)).type();
  };
  const auto &a = type(call.a()).dims(), &b = type(call.b()).dims();
  const auto &c = type(call.c()).dims(), &ids = type(call.ids()).dims();
  // One for each row, or as many as there are.
  auto areIntegers = [&](uint32_t index, const auto &dims) {
    const plan::TensorType &own = type(index);
    return (own.dtype() == plan::I32 || own.dtype() == plan::I64) &&
           own.dims_size() == std::max(1, dims.size() - 1) &&
           std::equal(own.dims().begin(), own.dims().end(), dims.begin());
  };
  auto is = [](const auto &dims, std::initializer_list<int64_t> expected) {
    return std::equal(dims.begin(), dims.end(), expected.begin(),
                      expected.end());
  };
  auto rowsOf = [](const auto &dims) {
    return dims.size() == 3 ? dims[0] * dims[1] : dims[0];
  };
  auto areRows = [&](const auto &dims) {
    return dims.size() == a.size() &&
           std::equal(dims.begin(), dims.end() - 1, a.begin());
  };
  // Rows are counted in 32 bits.
  bool sound = (a.size() == 2 || a.size() == 3) && ids.size() == 1 &&
               rowsOf(a) <= INT32_MAX && areIntegers(call.groups(), a) &&
               areIntegers(call.ids(), ids);
  int64_t inner = sound ? *a.rbegin() : 0;
  if (sound && call.gradient())
    sound =
        areRows(b) && !call.transposed() && is(c, {ids[0], inner, *b.rbegin()});
  else if (sound)
    sound =
        areRows(c) && (call.transposed() ? is(b, {ids[0], *c.rbegin(), inner})
                                         : is(b, {ids[0], inner, *c.rbegin()}));
  if (!sound)
    return bad("its product of ", printDims(a), " and ", printDims(b), " of ",
               ids.empty() ? 0 : ids[0], " experts, ", printDims(c),
               ", does not fit");
  plan::DataType element = type(call.a()).dtype();
  plan::DataType result = type(call.c()).dtype();
  if (!isMatrixType(element) || type(call.b()).dtype() != element ||
      (result != element && result != plan::F32))
    return bad("its operands have different or unsuitable types");
  return verifyWorkspace(program, call.workspace());
}

Status verifyCopy(const plan::Program &program, const plan::CopyCall &call) {
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *source,
                      anyBufferAt(program, call.source()));
  ZC_ASSIGN_OR_RETURN(const plan::Buffer *destination,
                      anyBufferAt(program, call.destination()));
  if (isOffloaded(*source) && isOffloaded(*destination))
    return bad("it copies what is offloaded to where that is");
  if (*byteCount(source->type()) != *byteCount(destination->type()))
    return bad("it copies ", printType(source->type()), " to ",
               printType(destination->type()));
  return Status();
}

/// Kernels belong to the one team of threads.
bool mayBeOnStream(const plan::Instruction &instruction) {
  switch (instruction.stream()) {
  case 0:
    return true;
  case 1:
    return instruction.has_collective();
  case 2:
    return instruction.has_copy();
  default:
    return false;
  }
}

} // namespace

Status verifyInstruction(const plan::Program &program,
                         const plan::Instruction &instruction,
                         const Mesh &mesh) {
  if (!mayBeOnStream(instruction))
    return bad("it is on stream ", instruction.stream());
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return verifyKernel(program, instruction.kernel());
  case plan::Instruction::kMatmul:
    return verifyMatmul(program, instruction.matmul());
  case plan::Instruction::kConvolution:
    return verifyConvolution(program, instruction.convolution());
  case plan::Instruction::kPooling:
    return verifyPooling(program, instruction.pooling());
  case plan::Instruction::kNorm:
    return verifyNorm(program, instruction.norm());
  case plan::Instruction::kAttention:
    return verifyAttention(program, instruction.attention());
  case plan::Instruction::kSparse:
    return verifySparse(program, instruction.sparse());
  case plan::Instruction::kGroupedMatmul:
    return verifyGroupedMatmul(program, instruction.grouped_matmul());
  case plan::Instruction::kCopy:
    return verifyCopy(program, instruction.copy());
  case plan::Instruction::kCollective:
    return verifyCollective(program, instruction.collective(), mesh);
  case plan::Instruction::KIND_NOT_SET:
    break;
  }
  return bad("it is of a kind that this version does not know");
}

} // namespace zc
