// Rows by the matrix of their group.
#ifndef ZC_KERNELS_CALLS_GROUPEDMATMUL_H
#define ZC_KERNELS_CALLS_GROUPEDMATMUL_H

#include "kernels/Calls/Call.h"

namespace zc::kernels {

/// Rows [rows, inner] by the matrix of their group, b [experts, inner, columns]
/// or, `transposed`, [experts, columns, inner]: c [rows, columns], zeros where
/// no id is a row's group. Or, as `gradient`, c [experts, inner, columns], of
/// each expert the sum of a's rows^T times b's, which are [rows, inner] and
/// [rows, columns]. groups [rows] and ids [experts] are I32 or I64; ids differ.
struct GroupedMatmulSpec {
  bool gradient = false, transposed = false;
  int64_t rows = 1, inner = 1, columns = 1, experts = 1;
  ElementType type = ElementType::F32, resultType = ElementType::F32;
  ElementType groupType = ElementType::I64, idType = ElementType::I64;
};

/// `a`, `b`, `c` as the spec says.
struct GroupedMatmulLaunch {
  GroupedMatmulSpec spec;
  void *a, *b, *c, *groups, *ids;
  void *workspace;
  uint64_t workspaceBytes;
};

/// a, b, groups, ids to c. Rows may have two dims, of which groups have those
/// before the last.
struct GroupedMatmulCall : CallRoom {
  using Spec = GroupedMatmulSpec;
  using Launch = GroupedMatmulLaunch;
  static constexpr const char *kName = "grouped_matmul";
  static constexpr std::string_view kOps[] = {"grouped_matmul",
                                              "grouped_matmul_grad"};
  static constexpr std::string_view kAttributes[] = {"transpose_weights"};
  /// Dims say how many experts there are; how full rows are changes no result.
  static constexpr std::string_view kImplied[] = {
      "experts", "filled", "room_groups", "room_capacity"};
  static CallWork workOf(const LibraryCall &call);

  static std::string check(const LibraryCall &call);
  static Spec specOf(const LibraryCall &call);
  static Launch launch(const LibraryCall &call, const CallAddresses &addresses);
  static uint64_t cpuWorkspace(const Spec &spec, int threads);
};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_GROUPEDMATMUL_H
