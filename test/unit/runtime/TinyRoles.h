// A tiny artifact of two roles.
#ifndef ZC_TEST_UNIT_RUNTIME_TINYROLES_H
#define ZC_TEST_UNIT_RUNTIME_TINYROLES_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc::test {

/// Two roles that hold "w" [3, 1] both, and "a" or "b" alike it by themselves,
/// which begin as zeros; each with a momentum for its own. The first one's
/// forward sends y [4, 1] to the second one's, whose backward sends as much
/// back; a step has two micro-batches. `dp` 2: each role has two ranks,
/// and those of the first role have half of "w" each.
plan::Manifest tinyManifestOfRoles(int dp = 1);

/// The same tensors in the one role of an artifact for one rank.
plan::Manifest tinyManifestOfOneRole();

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_TINYROLES_H
