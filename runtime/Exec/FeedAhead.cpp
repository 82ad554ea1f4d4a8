#include "runtime/Exec/FeedAhead.h"
#include "runtime/Exec/Streams.h"
#include "runtime/Plan/Feed.h"
#include "runtime/Plan/Types.h"

namespace zc {

Result<std::unique_ptr<FeedAhead>>
FeedAhead::create(Device &device, const plan::Program &program, char *place) {
  std::unique_ptr<FeedAhead> feed(new FeedAhead(device, program, place));
  ZC_ASSIGN_OR_RETURN(feed->written, device.createEvent());
  ZC_ASSIGN_OR_RETURN(feed->taken, device.createEvent());
  return feed;
}

void *FeedAhead::placeOf(int input) const {
  return place + fedAheadOffset(*theProgram, input);
}

Status FeedAhead::addSlots(const Slots &slots, const AddressMap &map) {
  auto &variant = copies[onlyOf(rings, slots)];
  for (int i = int(variant.size()); i < theProgram->inputs_size(); ++i) {
    const uint32_t buffer = theProgram->inputs(i).buffer();
    CopyLaunch copy = {placeOf(i), map.address(buffer),
                       *byteCount(map.buffer(buffer).type())};
    ZC_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                        device.prepare(copy));
    variant.push_back(std::move(executable));
  }
  return Status();
}

Status FeedAhead::write(int input, const void *bytes) {
  const plan::Buffer &buffer =
      theProgram->buffers(int(theProgram->inputs(input).buffer()));
  // The bytes written before must have been taken from there.
  if (wasTaken)
    ZC_RETURN_IF_ERROR(device.wait(taken, kFetchStream));
  wasTaken = false;
  return device.copyIn(placeOf(input), bytes, *byteCount(buffer.type()),
                       kFetchStream);
}

Status FeedAhead::take(const Slots &slots) {
  ZC_RETURN_IF_ERROR(device.record(written, kFetchStream));
  ZC_RETURN_IF_ERROR(device.wait(written, kMainStream));
  for (std::unique_ptr<Executable> &copy : copies[onlyOf(rings, slots)])
    ZC_RETURN_IF_ERROR(device.launch(*copy, kMainStream));
  ZC_RETURN_IF_ERROR(device.record(taken, kMainStream));
  wasTaken = true;
  return Status();
}

} // namespace zc
