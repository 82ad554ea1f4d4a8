//===- InspectSections.h - the two forms of a report ------------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_INSPECTSECTIONS_H
#define ZC_COMPILER_EXPORT_INSPECTSECTIONS_H

#include "compiler/Export/Inspect.h"

namespace zc {

std::string inspectAsJson(const plan::Manifest &manifest,
                          const InspectOptions &options);
std::string inspectAsText(const plan::Manifest &manifest,
                          const InspectOptions &options);

} // namespace zc

#endif // ZC_COMPILER_EXPORT_INSPECTSECTIONS_H
