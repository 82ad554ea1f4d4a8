//===- OpInterfaces.h - what an op of the train dialect answers -*- C++ -*-===//
#ifndef ZC_DIALECTS_INTERFACES_OPINTERFACES_H
#define ZC_DIALECTS_INTERFACES_OPINTERFACES_H

#include "dialects/Interfaces/Precision.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Interfaces/OpInterfaces.h.inc"
#include "dialects/Interfaces/Traffic.h.inc"

#endif // ZC_DIALECTS_INTERFACES_OPINTERFACES_H
