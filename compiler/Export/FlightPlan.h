//===- FlightPlan.h - the rings that an order needs -------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_FLIGHTPLAN_H
#define ZC_COMPILER_EXPORT_FLIGHTPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Order/BuildOrders.h"

#include <map>
#include <string>
#include <vector>

namespace zc {

/// A role's memory for the micro-batches in flight.
struct RoleFlight {
  uint64_t bytes = 0;                    // as Role.flight_bytes in the manifest
  std::map<std::string, uint32_t> slots; // by ring
};

/// Plans the flights, by role, of a module whose programs have offsets, but not
/// yet code. Fails as buildOrders() does.
Result<std::vector<RoleFlight>> planFlights(mlir::ModuleOp module,
                                            const OrderOptions &options);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_FLIGHTPLAN_H
