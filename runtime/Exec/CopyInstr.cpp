#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/Types.h"

namespace zc {

CopyLaunch makeCopyLaunch(const AddressMap &map, const plan::CopyCall &call) {
  return {map.address(call.source()), map.address(call.destination()),
          *byteCount(map.buffer(call.source()).type())};
}

} // namespace zc
