// Attention in the forms of ONNX Runtime, by ONNX's own operator.
#include "compiler/Import/Contrib/ContribOperators.h"

#include <cmath>

using namespace zc;
using llvm::Error;
using llvm::Expected;

constexpr double kMasked = -10000; // ONNX Runtime's mask_filter_value
constexpr int32_t kBool = proto::TensorProto::BOOL;
constexpr int32_t kInt64 = proto::TensorProto::INT64;

namespace {

/// The operands and sizes of every form of attention. q, k, v: [batch, tokens,
/// heads size].
struct Heads {
  std::string q, k, v;
  int64_t batch = 0, queries = 0, keys = 0; // keys: without the past's
  int64_t heads = 0, groups = 0;            // groups: heads of k and v
  int64_t past = 0;
  std::string pastKey, pastValue; // [batch, heads, past, size]
  std::string mask;               // added; empty: none
  bool causal = false;

  int64_t allKeys() const { return past + keys; }
};

} // namespace

// --- Masks
// ----------------------------------------------------------------------

static void addToMask(ContribCall &call, Heads &heads,
                      const std::string &more) {
  if (!more.empty())
    heads.mask =
        heads.mask.empty() ? more : call.add("Add", {heads.mask, more});
}

// 0 where `visible` is true; else `filter`.
static std::string addFilter(ContribCall &call, const std::string &visible,
                             double filter, const std::string &like) {
  return call.add("Where",
                  {visible, call.number(0, like), call.number(filter, like)});
}

// Whether query i may see key j: by their places, [queries, keys].
static std::string addCausal(ContribCall &call, const Heads &heads,
                             int64_t window) {
  std::string keys = call.iota(heads.allKeys());
  std::vector<int64_t> places(heads.queries);
  for (int64_t i = 0; i < heads.queries; ++i)
    places[i] = heads.past + i;
  std::string queries = call.reshape(call.ints(places), {heads.queries, 1});
  std::string visible = call.add("LessOrEqual", {keys, queries});
  if (window <= 0)
    return visible;
  std::string first = call.add("Sub", {queries, call.ints({window})});
  return call.add("And", {visible, call.add("Greater", {keys, first})});
}

// A mask of the keys in one of the forms that ONNX Runtime takes.
static Expected<std::string> addKeyMask(ContribCall &call, unsigned operand,
                                        const Heads &heads) {
  Dims dims = call.dims(operand);
  int64_t batch = heads.batch, keys = heads.allKeys();
  std::string given = call.operand(operand);
  auto below = [&](const std::string &ends) {
    return call.add("Less",
                    {call.iota(keys),
                     call.reshape(call.cast(ends, kInt64), {batch, 1, 1, 1})});
  };
  if (dims == Dims{batch})
    return below(given);
  if (dims == Dims{2 * batch}) { // where samples end, then where they begin
    auto parts = call.split(given, 0, {batch, batch});
    return call.add("And",
                    {below(parts[0]), call.add("Not", {below(parts[1])})});
  }
  std::string visible =
      call.add("Greater", {call.cast(given, kInt64), call.ints({0})});
  if (dims == Dims{batch, keys})
    return call.reshape(visible, {batch, 1, 1, keys});
  if (dims == Dims{batch, heads.queries, keys})
    return call.reshape(visible, {batch, 1, heads.queries, keys});
  return refuse("has a mask of a form that zc does not open; expected dims "
                "[batch], [2 batch], [batch, keys] or [batch, queries, keys]");
}

// --- The common end
// -------------------------------------------------------------

static llvm::Error giveAttention(ContribCall &call, Heads heads) {
  if (heads.causal && (heads.past > 0 || heads.queries != heads.keys)) {
    // ONNX's own causal mask has changed its mind about a past.
    addToMask(call, heads,
              addFilter(call, addCausal(call, heads, 0),
                        -std::numeric_limits<double>::infinity(), heads.q));
    heads.causal = false;
  }
  ContribCall::Attributes attributes = {
      attribute("q_num_heads", heads.heads),
      attribute("kv_num_heads", heads.groups),
      attribute("is_causal", int64_t(heads.causal))};
  // 0 is the default: by the size of a head.
  if (double scale = call.getFloat("scale", 0))
    attributes.push_back(attribute("scale", float(scale)));
  ContribCall::Names operands = {heads.q, heads.k, heads.v, heads.mask};
  if (heads.past > 0) {
    operands.push_back(heads.pastKey);
    operands.push_back(heads.pastValue);
  }
  while (operands.back().empty())
    operands.pop_back();
  call.give(0, call.add("Attention", operands, attributes));
  return Error::success();
}

// [batch, tokens, heads size] as [batch, heads, tokens, size].
static std::string addHeads(ContribCall &call, const std::string &x,
                            int64_t heads) {
  return call.transpose(call.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

// All keys and values, those of the past first.
static std::string addPresent(ContribCall &call, const std::string &past,
                              const std::string &x, int64_t heads) {
  std::string now = addHeads(call, x, heads);
  return past.empty()
             ? now
             : call.add("Concat", {past, now}, {attribute("axis", int64_t(2))});
}

// --- Attention: one matrix for q, k and v
// ---------------------------------------

Error zc::buildAttention(ContribCall &call) {
  enum { Input, Weights, Bias, Mask, Past, AttentionBias };
  if (call.getInt("do_rotary", 0) ||
      call.getInt("past_present_share_buffer", 0))
    return refuse("rotates or shares its buffers, which zc does not open");
  Dims input = call.dims(Input), weights = call.dims(Weights);
  if (input.size() != 3 || weights.size() != 2)
    return refuse("expected inputs of 3 dims and weights of 2");
  std::vector<int64_t> sizes = call.getInts("qkv_hidden_sizes");
  if (sizes.empty())
    sizes.assign(3, weights[1] / 3);
  std::string all =
      call.add("MatMul", {call.operand(Input), call.operand(Weights)});
  if (call.has(Bias))
    all = call.add("Add", {all, call.operand(Bias)});
  auto parts = call.split(all, 2, sizes);
  Heads heads;
  heads.q = parts[0], heads.k = parts[1], heads.v = parts[2];
  heads.batch = input[0], heads.queries = heads.keys = input[1];
  heads.heads = heads.groups = call.getInt("num_heads", 0);
  heads.causal = call.getInt("unidirectional", 0) != 0;
  if (call.has(Past)) {
    Dims past = call.dims(Past);
    heads.past = past[3];
    auto both = call.split(call.operand(Past), 0, {1, 1});
    Dims each(past.begin() + 1, past.end());
    heads.pastKey = call.reshape(both[0], each);
    heads.pastValue = call.reshape(both[1], each);
  }
  if (call.has(Mask)) {
    auto visible = addKeyMask(call, Mask, heads);
    if (!visible)
      return visible.takeError();
    addToMask(call, heads,
              addFilter(call, *visible,
                        call.getFloat("mask_filter_value", kMasked), heads.q));
  }
  addToMask(call, heads, call.operand(AttentionBias));
  if (call.wants(1)) {
    std::string k = addPresent(call, heads.pastKey, heads.k, heads.groups);
    std::string v = addPresent(call, heads.pastValue, heads.v, heads.groups);
    std::string both = call.add("Concat",
                                {call.add("Unsqueeze", {k, call.ints({0})}),
                                 call.add("Unsqueeze", {v, call.ints({0})})},
                                {attribute("axis", int64_t(0))});
    call.give(1, both);
  }
  return giveAttention(call, heads);
}

// --- MultiHeadAttention
// ---------------------------------------------------------

// q, k and v, whether they come alone or in one tensor; k and v may have their
// heads in front of their tokens.
static Error readOperands(ContribCall &call, Heads &heads) {
  enum { Query, Key, Value };
  Dims q = call.dims(Query);
  auto take = [&](unsigned operand, int64_t index) {
    Dims dims = call.dims(operand);
    std::string part = call.slice(call.operand(operand), 3, index, index + 1);
    return call.reshape(part, {dims[0], dims[1], dims[2] * dims[4]});
  };
  heads.batch = q[0];
  if (q.size() == 5) {
    heads.q = take(Query, 0), heads.k = take(Query, 1);
    heads.v = take(Query, 2);
    heads.queries = heads.keys = q[1];
    return Error::success();
  }
  if (q.size() != 3 || !call.has(Key))
    return refuse("expected a query of 3 dims and a key, or all in one tensor "
                  "of 5 dims");
  heads.q = call.operand(Query);
  heads.queries = q[1];
  Dims k = call.dims(Key);
  if (k.size() == 5) {
    heads.k = take(Key, 0), heads.v = take(Key, 1);
    heads.keys = k[1];
    return Error::success();
  }
  if (!call.has(Value))
    return refuse("expected a value beside the key");
  auto behind = [&](unsigned operand) {
    std::string x = call.operand(operand);
    return call.dims(operand).size() == 4
               ? call.reshape(call.transpose(x, {0, 2, 1, 3}), {0, 0, -1})
               : x;
  };
  heads.k = behind(Key), heads.v = behind(Value);
  heads.keys = k.size() == 4 ? k[2] : k[1];
  return Error::success();
}

// The projection's bias, for q, k and v one after another.
static void addBias(ContribCall &call, Heads &heads, unsigned bias,
                    int64_t width) {
  if (!call.has(bias))
    return;
  int64_t all = call.dims(bias)[0];
  auto parts =
      call.split(call.operand(bias), 0, {width, width, all - 2 * width});
  heads.q = call.add("Add", {heads.q, parts[0]});
  // Keys with heads in front are the past's, and have theirs.
  if (call.dims(1).size() != 4) {
    heads.k = call.add("Add", {heads.k, parts[1]});
    heads.v = call.add("Add", {heads.v, parts[2]});
  }
}

Error zc::buildMultiHeadAttention(ContribCall &call) {
  enum {
    Query,
    Key,
    Value,
    Bias,
    Mask,
    AttentionBias,
    PastKey,
    PastValue,
    PastLength,
    Beams
  };
  Heads heads;
  if (call.has(Beams) || call.has(PastLength) || call.wants(3))
    return refuse("decodes by beams or shares its buffers, which zc does not "
                  "open");
  if (Error error = readOperands(call, heads))
    return error;
  heads.heads = heads.groups = call.getInt("num_heads", 0);
  heads.causal = call.getInt("unidirectional", 0) != 0;
  Dims q = call.dims(Query);
  addBias(call, heads, Bias, q.size() == 5 ? q[2] * q[4] : q[2]);
  if (call.has(PastKey)) {
    heads.past = call.dims(PastKey)[2];
    heads.pastKey = call.operand(PastKey);
    heads.pastValue = call.operand(PastValue);
  }
  if (call.has(Mask)) {
    auto visible = addKeyMask(call, Mask, heads);
    if (!visible)
      return visible.takeError();
    addToMask(call, heads,
              addFilter(call, *visible,
                        call.getFloat("mask_filter_value", kMasked), heads.q));
  }
  addToMask(call, heads, call.operand(AttentionBias));
  if (call.wants(1))
    call.give(1, addPresent(call, heads.pastKey, heads.k, heads.groups));
  if (call.wants(2))
    call.give(2, addPresent(call, heads.pastValue, heads.v, heads.groups));
  return giveAttention(call, heads);
}

// --- GroupQueryAttention
// --------------------------------------------------------

namespace {
enum GroupOperand {
  Query,
  Key,
  Value,
  PastKey,
  PastValue,
  Lengths,
  TotalLength,
  Cos,
  Sin,
  Positions,
  GroupBias,
  Sink,
  KeyScale,
  ValueScale,
  QueryNorm,
  KeyNorm
};
} // namespace

static Error checkGroups(const ContribCall &call) {
  auto isSet = [&](const char *name) { return call.getInt(name, 0) > 0; };
  if (call.getFloat("softcap", 0) != 0 || isSet("smooth_softmax") ||
      call.has(Sink))
    return refuse("caps or smooths its softmax, which zc does not open");
  if (isSet("kv_cache_bit_width") || isSet("sliding_window_cache") ||
      call.wants(3))
    return refuse("quantises its cache, or gives its scores, which zc does "
                  "not open");
  return Error::success();
}

namespace {
/// The past of a GroupQueryAttention, of whose places each sample fills the
/// first ones.
struct GroupPast {
  int64_t batch = 0, places = 0, tokens = 0;
  std::string length; // what is filled, int64 [batch, 1]

  int64_t all() const { return places + tokens; }
};
} // namespace

static GroupPast readGroupPast(ContribCall &call, int64_t batch,
                               int64_t tokens) {
  GroupPast past{batch, 0, tokens, ""};
  if (!call.has(PastKey) || call.dims(PastKey).size() != 4)
    return past;
  past.places = call.dims(PastKey)[2];
  // The operand counts all keys of a sample but one.
  std::string last =
      call.reshape(call.cast(call.operand(Lengths), kInt64), {batch, 1});
  past.length = call.add("Sub", {last, call.ints({tokens - 1})});
  return past;
}

// Puts new keys or values behind those that a sample has filled: [batch, tokens
// of both, heads size].
static std::string addBehindPast(ContribCall &call, const GroupPast &past,
                                 unsigned operand, const std::string &x,
                                 int64_t heads) {
  std::string both =
      call.add("Concat", {call.operand(operand), addHeads(call, x, heads)},
               {attribute("axis", int64_t(2))});
  both = call.reshape(call.transpose(both, {0, 2, 1, 3}),
                      {past.batch, past.all(), -1});
  std::string place = call.iota(past.all());
  std::string skipped =
      call.add("Sub", {call.ints({past.places}), past.length});
  std::string moved = call.add(
      "Min", {call.add("Add", {place, skipped}), call.ints({past.all() - 1})});
  std::string from =
      call.add("Where", {call.add("Less", {place, past.length}), place, moved});
  std::string all = call.add(
      "GatherND", {both, call.reshape(from, {past.batch, past.all(), 1})},
      {attribute("batch_dims", int64_t(1))});
  // Zeros behind the end of a sample.
  std::string end = call.add("Add", {past.length, call.ints({past.tokens})});
  std::string held =
      call.reshape(call.add("Less", {place, end}), {past.batch, past.all(), 1});
  return call.add("Where", {held, all, call.number(0, x)});
}

// The places of the queries, [batch, tokens].
static std::string addQueryPlaces(ContribCall &call, const GroupPast &past) {
  return call.add("Add", {call.iota(past.tokens), past.length});
}

// Says which keys a query sees: those up to its own place, or all of its
// sample; with a window those near to it. [batch, 1, queries, keys].
static std::string addSeen(ContribCall &call, const GroupPast &past,
                           bool causal, int64_t window) {
  std::string keys = call.iota(past.all());
  std::string queries =
      call.reshape(addQueryPlaces(call, past), {past.batch, 1, past.tokens, 1});
  std::string ends =
      call.reshape(call.add("Add", {past.length, call.ints({past.tokens})}),
                   {past.batch, 1, 1, 1});
  std::string seen = causal ? call.add("LessOrEqual", {keys, queries})
                            : call.add("Less", {keys, ends});
  if (window <= 0)
    return seen;
  std::string first = call.add("Sub", {queries, call.ints({window})});
  return call.add("And", {seen, call.add("Greater", {keys, first})});
}

// A norm of every head by itself.
static std::string addHeadNorm(ContribCall &call, const std::string &x,
                               unsigned weight, int64_t heads) {
  if (!call.has(weight))
    return x;
  std::string parts = call.reshape(x, {0, 0, heads, -1});
  std::string normed = call.add(
      "RMSNormalization", {parts, call.operand(weight)},
      {attribute("axis", int64_t(-1)),
       attribute("epsilon", float(call.getFloat("qk_norm_epsilon", 1e-6)))});
  return call.reshape(normed, {0, 0, -1});
}

// `size`: of a head.
static std::string addRotation(ContribCall &call, const std::string &x,
                               unsigned cos, const std::string &places,
                               int64_t heads, int64_t size, bool interleaved) {
  int64_t rotated = 2 * call.dims(cos).back();
  ContribCall::Attributes attributes = {
      attribute("interleaved", int64_t(interleaved)),
      attribute("num_heads", heads)};
  if (rotated != size)
    attributes.push_back(attribute("rotary_embedding_dim", rotated));
  return call.add("RotaryEmbedding",
                  {x, call.operand(cos), call.operand(cos + 1), places},
                  attributes);
}

// 0, 1, … from `first`, a tensor of one element, or from 0; for every sample.
static std::string addPlaces(ContribCall &call, const std::string &first,
                             int64_t batch, int64_t tokens) {
  std::string places = call.reshape(call.iota(tokens), {1, tokens});
  if (!first.empty())
    places = call.add("Add", {places, call.reshape(first, {1, 1})});
  return call.add("Expand", {places, call.ints({batch, tokens})});
}

Error zc::buildGroupQueryAttention(ContribCall &call) {
  if (Error error = checkGroups(call))
    return error;
  Heads heads;
  Dims q = call.dims(Query);
  heads.batch = q[0], heads.queries = heads.keys = q[1];
  heads.heads = call.getInt("num_heads", 1);
  heads.groups = call.getInt("kv_num_heads", 1);
  heads.q = call.operand(Query);
  int64_t size = q[2] / heads.heads;
  if (!call.has(Key)) { // all in one
    size = q[2] / (heads.heads + 2 * heads.groups);
    int64_t shared = size * heads.groups;
    auto parts = call.split(heads.q, 2, {size * heads.heads, shared, shared});
    heads.q = parts[0], heads.k = parts[1], heads.v = parts[2];
  } else {
    heads.k = call.operand(Key), heads.v = call.operand(Value);
  }
  heads.q = addHeadNorm(call, heads.q, QueryNorm, heads.heads);
  heads.k = addHeadNorm(call, heads.k, KeyNorm, heads.groups);
  const GroupPast past = readGroupPast(call, heads.batch, heads.queries);
  const bool continues = past.places > 0;
  if (call.getInt("do_rotary", 0)) {
    // The kernel reads only the first of the places that are given.
    std::string first;
    if (call.has(Positions))
      first = call.slice(call.reshape(call.operand(Positions), {-1}), 0, 0, 1);
    std::string places =
        continues ? addQueryPlaces(call, past)
                  : addPlaces(call, first, heads.batch, heads.queries);
    bool interleaved = call.getInt("rotary_interleaved", 0) != 0;
    heads.q =
        addRotation(call, heads.q, Cos, places, heads.heads, size, interleaved);
    heads.k = addRotation(call, heads.k, Cos, places, heads.groups, size,
                          interleaved);
  }
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  int64_t window = call.getInt("local_window_size", -1);
  heads.causal = call.getInt("causal", 1) != 0;
  if (continues) {
    heads.k = addBehindPast(call, past, PastKey, heads.k, heads.groups);
    heads.v = addBehindPast(call, past, PastValue, heads.v, heads.groups);
    heads.keys = past.all();
    addToMask(call, heads,
              addFilter(call, addSeen(call, past, heads.causal, window), kNever,
                        heads.q));
    heads.causal = false;
  } else if (heads.causal && window > 0) {
    addToMask(call, heads,
              addFilter(call, addCausal(call, heads, window), kNever, heads.q));
    heads.causal = false;
  }
  if (!continues && !heads.causal && window <= 0) {
    // Keys behind a sample's end; in a causal one none but such queries see
    // them.
    std::string visible = call.add(
        "LessOrEqual", {call.iota(heads.keys),
                        call.reshape(call.cast(call.operand(Lengths), kInt64),
                                     {heads.batch, 1, 1, 1})});
    addToMask(call, heads, addFilter(call, visible, kNever, heads.q));
  }
  addToMask(call, heads, call.operand(GroupBias));
  if (call.wants(1))
    call.give(1, addHeads(call, heads.k, heads.groups));
  if (call.wants(2))
    call.give(2, addHeads(call, heads.v, heads.groups));
  return giveAttention(call, heads);
}

// --- RotaryEmbedding
// ------------------------------------------------------------

Error zc::buildRotaryEmbedding(ContribCall &call) {
  enum { Input, Places, CosTable };
  // ONNX Runtime's kernels read neither scale nor is_packed_batching: every
  // token has its place, whichever sample it is of.
  Dims x = call.dims(Input), places = call.dims(Places);
  if (x.size() != 3 && x.size() != 4)
    return refuse("expected an input of 3 or 4 dims, found ",
                  std::to_string(x.size()));
  int64_t rotated = 2 * call.dims(CosTable).back();
  int64_t heads = call.getInt("num_heads", 0);
  if (x.size() == 4)
    heads = x[1];
  else if (heads == 0)
    heads = x[2] / rotated;
  int64_t tokens = x[x.size() == 4 ? 2 : 1];
  int64_t size = x.size() == 4 ? x[3] : x[2] / heads;
  std::string where = call.operand(Places);
  if (places.size() == 1) // where the first token of each sample stands
    where = addPlaces(call, where, x[0], tokens);
  call.give(0, addRotation(call, call.operand(Input), CosTable, where, heads,
                           size, call.getInt("interleaved", 0) != 0));
  return Error::success();
}

// q cos(angles) + turned q sin(angles), and the same of k. The angles are
// [samples, tokens, size of a head], the others have heads as their second dim.
Error zc::buildGemmaRotaryEmbedding(ContribCall &call) {
  enum { Angles, Query, TurnedQuery, Key, TurnedKey };
  Dims dims = call.dims(Angles);
  if (dims.size() != 3)
    return refuse("expected angles of 3 dims, found ",
                  std::to_string(dims.size()));
  std::string angles =
      call.reshape(call.operand(Angles), {dims[0], 1, dims[1], dims[2]});
  std::string cos =
      call.cast(call.add("Cos", {angles}), call.elementType(Query));
  std::string sin =
      call.cast(call.add("Sin", {angles}), call.elementType(Query));
  for (unsigned result = 0; result < 2; ++result) {
    if (!call.wants(result))
      continue;
    unsigned straight = result == 0 ? Query : Key;
    std::string here = call.add("Mul", {call.operand(straight), cos});
    std::string turned = call.add("Mul", {call.operand(straight + 1), sin});
    call.give(result, call.add("Add", {here, turned}));
  }
  return Error::success();
}
