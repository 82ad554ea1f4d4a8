// Scalar states as JSON, exactly.
#ifndef ZC_RUNTIME_IO_SCALARS_H
#define ZC_RUNTIME_IO_SCALARS_H

#include "runtime/Exec/Executor.h"

#include <nlohmann/json.hpp>

namespace zc::checkpoint {

/// {"type": "F32", "value": 0.5, "bits": "0000003f"}: the value for people, the
/// little-endian bytes for the reader.
nlohmann::ordered_json scalarToJson(const plan::State &state,
                                    std::string_view bytes);

/// The bytes back, or a failure when they are not those of the state's type.
Result<std::string> scalarFromJson(const plan::State &state,
                                   const nlohmann::ordered_json &json);

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_SCALARS_H
