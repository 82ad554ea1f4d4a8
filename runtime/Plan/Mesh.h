// The mesh of a manifest: its named axes, and where each rank stands. Ranks
// are numbered row-major over the axes, slowest first.
#ifndef ZC_RUNTIME_PLAN_MESH_H
#define ZC_RUNTIME_PLAN_MESH_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Manifest.pb.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace zc {

/// Axes as the schema lists them.
using AxisNames = google::protobuf::RepeatedPtrField<std::string>;

/// Whether the first rank along "dp" is a parameter server, role 0, and the
/// others its workers, role 1: a manifest without "pp" has two roles.
bool hasParameterServer(const plan::Manifest &manifest);

class Mesh {
public:
  /// Fails where sizes are no numbers or names are given twice.
  static Result<Mesh> of(const plan::Manifest &manifest);

  int64_t ranks() const { return theRanks; }
  bool has(const std::string &axis) const { return find(axis) != nullptr; }

  /// Where a rank stands along an axis; 0 along one that does not exist.
  int64_t coordinate(int64_t rank, const std::string &axis) const;

  /// Where ranks stand along this axis says which role they have.
  const char *roleAxis() const {
    return hasServer ? axes::kSample : axes::kRole;
  }
  int64_t roles() const;

  /// A rank's role: where it stands along "pp"; with a parameter server, 0 of
  /// the first rank along "dp", which is the server, and 1 of the others.
  int role(int64_t rank) const {
    const int64_t place = coordinate(rank, roleAxis());
    return int(hasServer ? std::min<int64_t>(place, 1) : place);
  }

  /// Whether no rank of its role stands before it along the axis of roles.
  bool isFirstOfRole(int64_t rank) const {
    return coordinate(rank, roleAxis()) == role(rank);
  }

  /// The first rank of a role.
  int firstOf(int role) const;

  /// How many ranks differ only along `axes`.
  int64_t groupSize(const AxisNames &axes) const;
  /// A rank's place among these, numbered row-major over the axes as given.
  int64_t placeInGroup(int64_t rank, const AxisNames &axes) const;
  /// The ranks of that group, by their places.
  std::vector<int> group(int64_t rank, const AxisNames &axes) const;

  /// Whether a rank stands first along every axis that is not in `axes`: of
  /// the ranks that hold the same part, one.
  bool isFirstBut(int64_t rank, const std::vector<std::string> &axes) const;

private:
  struct Axis {
    std::string name;
    int64_t size;
    int64_t stride; // between ranks that are neighbours along it
  };
  const Axis *find(const std::string &name) const;
  int64_t
  extent(const std::string &name) const; // 1 along one that is not there

  std::vector<Axis> axes;
  int64_t theRanks = 1;
  bool hasServer = false;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_MESH_H
