// Messages between ranks by functions that the caller of the library gives.
#ifndef ZC_RUNTIME_API_CALLERTRANSPORT_H
#define ZC_RUNTIME_API_CALLERTRANSPORT_H

#include "runtime/Api/zc_types.h"
#include "runtime/Comm/Transport.h"

#include <memory>

namespace zc {

/// Calls the functions one at a time, from whichever thread. Fails where one of
/// them is missing, or the ranks' numbers are none.
Result<std::unique_ptr<Transport>>
makeCallerTransport(const zc_transport &given);

} // namespace zc

#endif // ZC_RUNTIME_API_CALLERTRANSPORT_H
