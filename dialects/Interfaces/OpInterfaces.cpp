//===- OpInterfaces.cpp ---------------------------------------------------===//
#include "dialects/Interfaces/OpInterfaces.h"

using namespace mlir;

#include "dialects/Interfaces/OpInterfaces.cpp.inc"
#include "dialects/Interfaces/Traffic.cpp.inc"
