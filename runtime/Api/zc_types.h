/* zc_types.h: the types of zc.h, which includes this. */
#ifndef ZC_RUNTIME_API_ZC_TYPES_H
#define ZC_RUNTIME_API_ZC_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum zc_status {
  ZC_OK = 0,
  ZC_INVALID_ARGUMENT = 1,   /* what was asked does not fit the artifact */
  ZC_NOT_FOUND = 2,          /* no such file, input, state or metric */
  ZC_CORRUPT = 3,            /* a file is not what it claims to be */
  ZC_UNSUPPORTED = 4,        /* sound, but not for this version or machine */
  ZC_RESOURCE_EXHAUSTED = 5, /* memory, disk or threads */
  ZC_IO_ERROR = 6,           /* the system refused */
  ZC_DEADLINE_EXCEEDED = 7,  /* waited longer than allowed */
  ZC_CANCELLED = 8,          /* because of a failure elsewhere */
  ZC_INTERNAL = 9,           /* a library failed; a mistake in zc */
  ZC_NOT_FINITE = 10,        /* the loss or the gradients are no numbers */
  ZC_BUSY = 11               /* another call is under way in the session */
} zc_status;

/* An opened artifact with its parameters and all memory that it needs. */
typedef struct zc_session zc_session;

typedef enum zc_log_level { ZC_LOG_NOTE = 0, ZC_LOG_WARNING = 1 } zc_log_level;

/* Gets messages for people, without a newline, from the thread that calls the
 * library. It must not call the session's functions (they return ZC_BUSY) and
 * must not throw. */
typedef void (*zc_log_callback)(void *context, zc_log_level level,
                                const char *message);

typedef struct zc_open_options {
  size_t size;             /* sizeof(zc_open_options) */
  uint64_t seed;           /* of drawn weights and dropout; as --seed */
  int32_t threads;         /* 0: as many as planned and there are processors */
  const char *offload_dir; /* as --offload-dir; NULL: $TMPDIR or /var/tmp */
  zc_log_callback log;     /* NULL: messages are dropped */
  void *log_context;
} zc_open_options;

#define ZC_OPEN_OPTIONS_INIT                                                   \
  { sizeof(zc_open_options), 0, 0, NULL, NULL, NULL }

typedef enum zc_type {
  ZC_FLOAT32 = 1,
  ZC_FLOAT64 = 2,
  ZC_FLOAT16 = 3,
  ZC_BFLOAT16 = 4,
  ZC_BOOL = 5, /* one byte, 0 or 1 */
  ZC_INT8 = 6,
  ZC_UINT8 = 7,
  ZC_INT16 = 8,
  ZC_UINT16 = 9,
  ZC_INT32 = 10,
  ZC_UINT32 = 11,
  ZC_INT64 = 12,
  ZC_UINT64 = 13
} zc_type;

typedef enum zc_tensor_kind {
  ZC_INPUT = 1,
  ZC_LABEL = 2, /* an input that the loss alone reads */
  ZC_OUTPUT = 3,
  ZC_PARAMETER = 4, /* trained */
  ZC_STATISTIC = 5, /* as batch normalisation's running mean */
  ZC_OPTIMIZER_STATE = 6,
  ZC_OTHER_STATE = 7
} zc_tensor_kind;

/* Of a tensor of the session. */
typedef struct zc_tensor_info {
  size_t size; /* sizeof(zc_tensor_info), set by the caller */
  const char *name;
  const int64_t *dims; /* of inputs: those of one step */
  int32_t rank;        /* the number of dims */
  zc_type type;
  zc_tensor_kind kind;
  int32_t batch_dim; /* which dim counts samples; -1: none */
} zc_tensor_info;

#define ZC_TENSOR_INFO_INIT                                                    \
  { sizeof(zc_tensor_info), NULL, NULL, 0, ZC_FLOAT32, ZC_INPUT, -1 }

#endif /* ZC_RUNTIME_API_ZC_TYPES_H */
