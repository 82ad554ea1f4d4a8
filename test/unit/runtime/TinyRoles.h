// A tiny artifact of two roles.
#ifndef ZC_TEST_UNIT_RUNTIME_TINYROLES_H
#define ZC_TEST_UNIT_RUNTIME_TINYROLES_H

#include "runtime/Plan/Manifest.pb.h"

namespace zc::test {

/// Two roles that hold "w" [3, 1] both, and "a" or "b" alike it by themselves,
/// which begin as zeros; each with a momentum for its own. The first one's
/// forward sends y [4, 1] to the second one's.
plan::Manifest tinyManifestOfRoles();

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_TINYROLES_H
