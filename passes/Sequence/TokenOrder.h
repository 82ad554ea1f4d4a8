//===- TokenOrder.h - tokens in another order -------------------*- C++ -*-===//
//
// Under a causal mask late tokens have more to attend to than early ones. With
// an early and a late chunk of the tokens each (zigzag, as Llama 3 was trained)
// ranks have equally much to do. A model does to each token the same, but for
// what attention's mask and the sources of positions say: tokens change places
// where they come in, positions with them, and back where they go out, or where
// somebody reads them in their order.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SEQUENCE_TOKENORDER_H
#define ZC_PASSES_SEQUENCE_TOKENORDER_H

#include "passes/Sequence/ExchangeCost.h"
#include "passes/Sequence/TokenDims.h"

namespace zc {

/// Why the order of a program's tokens must stay.
struct OrderObstacle {
  mlir::Operation *op = nullptr; // whose node is to be named, if there is one
  std::string why;               // empty: nothing is in the way
};

/// The order of one program's tokens.
class TokenOrder {
public:
  TokenOrder(mlir::func::FuncOp program, const AttentionParts &parts);

  bool hasAttention() { return tokens.hasAttention(); }

  /// Whether all attentions divide their heads instead, also if masks come
  /// apart for a ring.
  bool prefersHeads(bool comeApart = false) const;

  /// Whether keys can go round; --zc-find-tokens names those that cannot.
  bool hasRing() const { return tokens.getUnfused().get().empty(); }

  /// Whether --zc-find-tokens refuses a node that mixes tokens.
  bool isRefused();

  /// `isAsked`: somebody wants zigzag, also where tokens are looked up by their
  /// numbers, so that ranks must gather them.
  OrderObstacle findObstacle(bool isAsked);

  /// Whether an attention reads all keys, in the model's order.
  using GathersKeys = llvm::function_ref<bool(mlir::Operation *)>;

  /// Changes the places of tokens.
  void run(GathersKeys gathersKeys);

private:
  /// An operand of which an op reads some dims of tokens in their order.
  struct Reader {
    mlir::OpOperand *use;
    llvm::SmallVector<int64_t> dims;
  };
  /// A result, with the dims in which it goes back to the model's order, and
  /// the one in which the host puts it back.
  struct Result {
    unsigned index;
    std::optional<int64_t> kept;
    llvm::SmallVector<int64_t> dims;
  };
  /// A mask of keys whose order differs from that of the keys.
  struct Mask {
    train::AttentionOp attention;
    bool isOrdered; // as the tokens that it is computed from
  };

  std::string findObstacleOf(train::AttentionOp op) const;
  bool looksUpTokens(mlir::Operation *op);
  bool hasTokens(mlir::Value value);

  void findEarly();
  llvm::DenseSet<mlir::Value> findIntegers();
  void addSums(const llvm::DenseSet<mlir::Value> &integers);
  llvm::SmallVector<int64_t> findReadDims(mlir::OpOperand &use);
  bool readsTokens(mlir::Operation *op);
  bool readsAll(mlir::OpOperand &use);
  int64_t countTokenDims(mlir::Value value);
  bool isEarly(mlir::Operation *op);
  bool staysInOrder(mlir::OpOperand &use);
  void findReaders();

  llvm::SmallVector<Mask> findMasks(GathersKeys gathersKeys);
  void orderMask(Mask mask);
  llvm::SmallVector<DimOf> findSources();
  void collect(mlir::Value value, llvm::SmallVectorImpl<DimOf> &sources);
  bool comesFromOperand(DimOf dim);
  bool comesFromRead(DimOf dim);
  void reorder(DimOf source);
  void readInOrder(const Reader &reader);
  llvm::SmallVector<Result> findResults();
  void orderResult(const Result &result);
  void keepOrder(unsigned result, int64_t dim);
  mlir::Value gather(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value, int64_t dim, bool inverse);

  mlir::func::FuncOp program;
  AttentionParts parts;
  TokenDims tokens;
  llvm::SmallVector<Reader> readers;
  llvm::DenseSet<mlir::Operation *> reading; // the readers' ops
  llvm::DenseSet<mlir::Value> early;         // integers that stay in order
};

} // namespace zc

#endif // ZC_PASSES_SEQUENCE_TOKENORDER_H
