#include "runtime/Comm/Ring.h"
#include "runtime/Comm/Reduce.h"

#include <algorithm>
#include <cstring>

namespace zc {

/// Rank r's chunk is [begin(r), begin(r + 1)), in elements of `bytes` bytes.
struct RingCommunicator::Chunks {
  int64_t count, ranks, bytes;
  int64_t begin(int64_t r) const {
    return count / ranks * r + std::min(r, count % ranks);
  }
  int64_t elements(int64_t r) const { return begin(r + 1) - begin(r); }
  uint64_t offset(int64_t r) const { return uint64_t(begin(r) * bytes); }
  uint64_t size(int64_t r) const { return uint64_t(elements(r) * bytes); }
};

/// After it, every rank has the whole reduction of its own chunk.
Status RingCommunicator::reduceRound(char *data, const Chunks &chunks,
                                     ElementType type, Reduction reduction) {
  const int p = size(), r = rank();
  staging.resize(std::max<size_t>(staging.size(), chunks.size(0)));
  for (int step = 1; step < p; ++step) {
    int send = (r - step + p) % p, receive = (r - step - 1 + p) % p;
    Exchange exchange{(r + 1) % p,       data + chunks.offset(send),
                      chunks.size(send), (r - 1 + p) % p,
                      staging.data(),    chunks.size(receive)};
    ZC_RETURN_IF_ERROR(sendReceive(exchange));
    ZC_RETURN_IF_ERROR(reduceInto(data + chunks.offset(receive), staging.data(),
                                  chunks.elements(receive), type, reduction));
  }
  return Status();
}

/// From every rank having its own chunk to every rank having all.
Status RingCommunicator::gatherRound(char *data, const Chunks &chunks) {
  const int p = size(), r = rank();
  for (int step = 0; step + 1 < p; ++step) {
    int send = (r - step + p) % p, receive = (r - step - 1 + p) % p;
    Exchange exchange{
        (r + 1) % p,     data + chunks.offset(send),    chunks.size(send),
        (r - 1 + p) % p, data + chunks.offset(receive), chunks.size(receive)};
    ZC_RETURN_IF_ERROR(sendReceive(exchange));
  }
  return Status();
}

Status RingCommunicator::allReduce(void *data, int64_t count, ElementType type,
                                   Reduction reduction) {
  Chunks chunks{count, size(), kernels::elementBytes(type)};
  char *bytes = static_cast<char *>(data);
  ZC_RETURN_IF_ERROR(reduceRound(bytes, chunks, type, reduction));
  return gatherRound(bytes, chunks);
}

Status RingCommunicator::allGather(const void *part, void *all,
                                   uint64_t bytes) {
  char *target = static_cast<char *>(all);
  char *own = target + uint64_t(rank()) * bytes;
  if (own != part && bytes > 0)
    std::memcpy(own, part, bytes);
  return gatherRound(target, {int64_t(bytes) * size(), size(), 1});
}

Status RingCommunicator::reduceScatter(void *all, void *part, int64_t count,
                                       ElementType type, Reduction reduction) {
  Chunks chunks{count * size(), size(), kernels::elementBytes(type)};
  char *bytes = static_cast<char *>(all);
  ZC_RETURN_IF_ERROR(reduceRound(bytes, chunks, type, reduction));
  char *own = bytes + chunks.offset(rank());
  if (own != part && chunks.size(rank()) > 0)
    std::memcpy(part, own, chunks.size(rank()));
  return Status();
}

/// Along a chain that begins at the root.
Status RingCommunicator::broadcast(void *data, uint64_t bytes, int root) {
  const int p = size(), r = rank();
  int place = (r - root + p) % p;
  if (place > 0) {
    Exchange from{0, nullptr, 0, (r - 1 + p) % p, data, bytes};
    ZC_RETURN_IF_ERROR(sendReceive(from));
  }
  if (place + 1 < p) {
    Exchange to{(r + 1) % p, data, bytes, 0, nullptr, 0};
    ZC_RETURN_IF_ERROR(sendReceive(to));
  }
  return Status();
}

} // namespace zc
