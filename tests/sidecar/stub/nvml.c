/* A stand-in for libnvidia-ml.so.1, for tests: its GPUs are lines of a text file that is read again at every call.
 *
 * It knows nothing but that file ($NVML_STUB_STATE). A line is KEY=VALUE; KEY.GPU is of one GPU, KEY alone of all. What
 * has no line is not supported (3). Every call is written, as a line, to $NVML_STUB_CALLS. Which keys there are is told
 * in __init__.py beside this file. The compiler holds every function against nvml.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nvml.h"

#define GPUS 32
#define INSTANCES 8
#define LINE 128

struct nvmlDevice_st { int gpu, mig; };
struct nvmlEventSet_st { unsigned long long gpus; };
struct nvmlGpmSample_st { int gpu, instance; double at; };

static struct nvmlDevice_st whole[GPUS], part[GPUS][INSTANCES];
static int opened, told;
static double since;
static __thread char state[1 << 17];

/* ---- the file ---- */

static void look(void) {
    const char *path = getenv("NVML_STUB_STATE");
    size_t got = 0;
    state[0] = 0;
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    for (ssize_t n; got < sizeof state - 1 && (n = read(file, state + got, sizeof state - 1 - got)) > 0;) got += n;
    close(file);
    state[got] = 0;
}

static const char *text(const char *key) {
    size_t long_ = strlen(key);
    for (const char *at = state; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : at)
        if (!strncmp(at, key, long_) && at[long_] == '=') return at + long_ + 1;
    return NULL;
}

static const char *of(const char *key, int gpu) {
    char one[LINE];
    snprintf(one, sizeof one, "%s.%d", key, gpu);
    const char *found = gpu < 0 ? NULL : text(one);
    return found ? found : text(key);
}

static long long number(const char *key, int gpu, long long otherwise) {
    const char *found = of(key, gpu);
    return found ? strtoll(found, NULL, 0) : otherwise;
}

static void copy(char *into, const char *from, unsigned int size) {
    size_t n = strcspn(from, "\n");
    if (n >= size) n = size - 1;
    memcpy(into, from, n);
    into[n] = 0;
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

/* ---- what happens before every call: it is written down, it may hang, it may fail ---- */

static void note(const char *function) {
    const char *path = getenv("NVML_STUB_CALLS");
    char line[LINE];
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file < 0) return;
    int n = snprintf(line, sizeof line, "%s\n", function);
    if (write(file, line, n) != n) abort();
    close(file);
}

static nvmlReturn_t enter(const char *function, const char *operation, int gpu) {
    char key[LINE];
    note(function);
    look();
    snprintf(key, sizeof key, "hang.%s", operation);
    while (number(key, gpu, 0)) usleep(5000), look();
    snprintf(key, sizeof key, "slow.%s", operation);
    usleep(1000 * number(key, gpu, 0));
    snprintf(key, sizeof key, "err.%s", operation);
    nvmlReturn_t error = number(key, gpu, 0);
    if (error) return error;
    if (!strcmp(operation, "init") || !strcmp(operation, "shutdown")) return NVML_SUCCESS;
    if (!opened) return NVML_ERROR_UNINITIALIZED;
    if ((error = number("err.all", gpu, 0))) return error;
    if (gpu >= 0 && (number("lost", gpu, 0) || number("gone", gpu, 0))) return NVML_ERROR_GPU_IS_LOST;
    return NVML_SUCCESS;
}

#define ENTER(operation, gpu) \
    do { nvmlReturn_t error_ = enter(__func__, operation, gpu); if (error_) return error_; } while (0)

static nvmlReturn_t value(const char *key, int gpu, unsigned long long *into) {
    const char *found = of(key, gpu);
    if (!found) return NVML_ERROR_NOT_SUPPORTED;
    char grow[LINE];
    snprintf(grow, sizeof grow, "grow.%s", key);
    *into = strtoull(found, NULL, 0) + (unsigned long long)(number(grow, gpu, 0) * (now() - since));
    return NVML_SUCCESS;
}

static nvmlReturn_t small(const char *key, int gpu, unsigned int *into) {
    unsigned long long wide = 0;
    nvmlReturn_t error = value(key, gpu, &wide);
    *into = wide;
    return error;
}

static nvmlReturn_t words(const char *key, int gpu, char *into, unsigned int size) {
    const char *found = of(key, gpu);
    if (!found) return NVML_ERROR_NOT_SUPPORTED;
    copy(into, found, size);
    return NVML_SUCCESS;
}

/* ---- the library ---- */

static int counted(int gpu) {
    return !number("gone", gpu, 0) && !number("hidden", gpu, 0);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    ENTER("init", -1);
    for (int gpu = 0; gpu < GPUS; gpu++) {
        whole[gpu] = (struct nvmlDevice_st){gpu, -1};
        for (int mig = 0; mig < INSTANCES; mig++) part[gpu][mig] = (struct nvmlDevice_st){gpu, mig};
    }
    if (!opened++) since = now();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void) {
    ENTER("shutdown", -1);
    if (!opened) return NVML_ERROR_UNINITIALIZED;
    opened--;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result) {
    (void)result;
    return "an error of the stub";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    ENTER("driver", -1);
    return words("driver", -1, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) {
    ENTER("cuda", -1);
    return small("cuda", -1, (unsigned int *)version);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    ENTER("count", -1);
    *count = 0;
    for (int gpu = 0; gpu < number("gpus", -1, 0); gpu++) *count += counted(gpu);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    int gpu = 0;
    look();
    for (unsigned int left = index; gpu < number("gpus", -1, 0); gpu++)
        if (counted(gpu) && !left--) break;
    ENTER("handle", gpu < number("gpus", -1, 0) ? gpu : -1);
    if (gpu >= number("gpus", -1, 0)) return NVML_ERROR_INVALID_ARGUMENT;
    *device = &whole[gpu];
    return NVML_SUCCESS;
}

/* ---- one GPU, or one MIG instance of it ---- */

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
    char key[LINE];
    ENTER("uuid", device->gpu);
    if (device->mig < 0) return words("uuid", device->gpu, uuid, length);
    snprintf(key, sizeof key, "mig.uuid.%d.%d", device->gpu, device->mig);
    return words(key, -1, uuid, length);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    char key[LINE];
    ENTER("name", device->gpu);
    if (device->mig < 0) return words("name", device->gpu, name, length);
    snprintf(key, sizeof key, "mig.name.%d.%d", device->gpu, device->mig);
    return words(key, -1, name, length);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    ENTER("pci", device->gpu);
    memset(pci, 0, sizeof *pci);
    return words("pci", device->gpu, pci->busId, sizeof pci->busId);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy) {
    ENTER("energy", device->gpu);
    return device->mig < 0 ? value("energy", device->gpu, energy) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) {
    ENTER("power", device->gpu);
    return device->mig < 0 ? small("power", device->gpu, power) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit) {
    ENTER("limit", device->gpu);
    return small("limit", device->gpu, limit);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization) {
    ENTER("util", device->gpu);
    if (device->mig >= 0 || number("mig", device->gpu, 0)) return NVML_ERROR_NOT_SUPPORTED;
    nvmlReturn_t error = small("util", device->gpu, &utilization->gpu);
    return error ? error : small("util.memory", device->gpu, &utilization->memory);
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long since,
                                  nvmlValueType_t *kind, unsigned int *count, nvmlSample_t *samples) {
    ENTER("samples", device->gpu);
    const char *at = of("samples", device->gpu);
    if (type != NVML_GPU_UTILIZATION_SAMPLES || number("mig", device->gpu, 0) || !at) return NVML_ERROR_NOT_SUPPORTED;
    if (samples && !*count) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int room = *count, found = 0;
    *kind = NVML_VALUE_TYPE_UNSIGNED_INT;
    while (*at && *at != '\n') { /* MICROSECONDS:PERCENT,… */
        char *end;
        unsigned long long when = strtoull(at, &end, 10);
        unsigned int percent = *end == ':' ? strtoul(end + 1, &end, 10) : 0;
        if (when > since && samples && found < room)
            samples[found] = (nvmlSample_t){.timeStamp = when, .sampleValue.uiVal = percent};
        found += when > since;
        at = *end == ',' ? end + 1 : end;
    }
    *count = found;
    return found ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t memory(nvmlDevice_t device, const char *what, unsigned long long *into) {
    char key[LINE];
    if (device->mig < 0) snprintf(key, sizeof key, "memory.%s.%d", what, device->gpu);
    else snprintf(key, sizeof key, "mig.memory.%s.%d.%d", what, device->gpu, device->mig);
    if (text(key)) return value(key, -1, into);
    snprintf(key, sizeof key, "memory.%s", what);
    return device->mig < 0 ? value(key, -1, into) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *info) {
    ENTER("memory2", device->gpu);
    if (info->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t error = memory(device, "total", &info->total);
    if (!error) error = memory(device, "used", &info->used);
    if (!error) error = memory(device, "reserved", &info->reserved);
    info->free = info->total - info->used - info->reserved;
    return error;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *info) {
    unsigned long long reserved = 0;
    ENTER("memory", device->gpu);
    nvmlReturn_t error = memory(device, "total", &info->total);
    if (!error) error = memory(device, "used", &info->used);
    if (!error) error = memory(device, "reserved", &reserved);
    info->used += reserved; /* as the real one: what it reserves counts as used */
    info->free = info->total - info->used;
    return error;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock) {
    ENTER("clock", device->gpu);
    return small(type == NVML_CLOCK_SM ? "clock.sm" : "clock.memory", device->gpu, clock);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock) {
    ENTER("maxclock", device->gpu);
    return small(type == NVML_CLOCK_SM ? "maxclock.sm" : "maxclock.memory", device->gpu, clock);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
    ENTER("reasons", device->gpu);
    return value("reasons", device->gpu, reasons);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    ENTER("throttle", device->gpu);
    return value("reasons", device->gpu, reasons);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *fields) {
    char key[LINE];
    ENTER("fields", device->gpu);
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *one = &fields[i];
        snprintf(key, sizeof key, "slow.field.%u", one->fieldId);
        one->latencyUsec = 1000 * number(key, device->gpu, 0);
        usleep(one->latencyUsec);
        snprintf(key, sizeof key, "fieldtype.%u", one->fieldId);
        one->valueType = number(key, device->gpu, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
        snprintf(key, sizeof key, "err.field.%u", one->fieldId);
        one->nvmlReturn = number(key, device->gpu, 0);
        snprintf(key, sizeof key, one->scopeId && one->scopeId != ~0u ? "field.%u@%u" : "field.%u", one->fieldId, one->scopeId);
        const char *found = of(key, device->gpu);
        if (!found && !one->nvmlReturn) one->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        memset(&one->value, 0, sizeof one->value);
        if (!found || one->nvmlReturn) continue;
        if (one->valueType == NVML_VALUE_TYPE_DOUBLE) one->value.dVal = strtod(found, NULL);
        else if (one->valueType == NVML_VALUE_TYPE_SIGNED_INT) one->value.siVal = strtol(found, NULL, 0);
        else if (one->valueType == NVML_VALUE_TYPE_SIGNED_LONG_LONG) one->value.sllVal = strtoll(found, NULL, 0);
        else if (one->valueType == NVML_VALUE_TYPE_UNSIGNED_INT) one->value.uiVal = strtoul(found, NULL, 0);
        else value(key, device->gpu, &one->value.ullVal);
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temperature) {
    (void)sensor;
    ENTER("temperature", device->gpu);
    return small("temperature", device->gpu, temperature);
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature) {
    ENTER("temperaturev", device->gpu);
    if (temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return small("temperature", device->gpu, (unsigned int *)&temperature->temperature);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t kind, unsigned int *limit) {
    ENTER("threshold", device->gpu);
    return kind == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? small("threshold", device->gpu, limit) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *margin) {
    ENTER("margin", device->gpu);
    if (margin->version != nvmlMarginTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return small("margin", device->gpu, (unsigned int *)&margin->marginTemperature);
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode) {
    ENTER("mode", device->gpu);
    return small("mode", device->gpu, (unsigned int *)mode);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos) {
    ENTER("processes", device->gpu);
    unsigned int room = *count, found = 0;
    const char *at = of("processes", device->gpu);
    while (at && *at && *at != '\n') { /* PID:BYTES,… */
        char *end;
        unsigned int pid = strtoul(at, &end, 10);
        unsigned long long bytes = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
        if (infos && found < room) infos[found] = (nvmlProcessInfo_t){pid, bytes, ~0u, ~0u};
        found++;
        at = *end == ',' ? end + 1 : end;
    }
    *count = found;
    return found > (infos ? room : 0) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

/* ---- what a sampler should leave alone: there to be counted ---- */

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int *speed) {
    ENTER("fan", device->gpu);
    return small("fan", device->gpu, speed);
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *rate) {
    (void)counter;
    ENTER("pcie", device->gpu);
    usleep(20000);
    return small("pcie", device->gpu, rate);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos) {
    (void)infos;
    ENTER("graphics", device->gpu);
    *count = 0;
    return NVML_SUCCESS;
}

/* ---- MIG ---- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
    ENTER("migmode", device->gpu);
    const char *found = of("mig", device->gpu);
    if (!found) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = strtol(found, NULL, 10) > 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
    ENTER("migmax", device->gpu);
    *count = 7;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *instance) {
    ENTER("mighandle", device->gpu);
    if (index >= (unsigned int)number("mig", device->gpu, 0)) return NVML_ERROR_NOT_FOUND;
    *instance = &part[device->gpu][index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id) {
    ENTER("gi", device->gpu);
    *id = 7 + device->mig;
    return device->mig < 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id) {
    ENTER("ci", device->gpu);
    *id = 0;
    return device->mig < 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

/* ---- GPM: two samples of the same GPU, more than 100 ms apart ---- */

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support) {
    ENTER("gpmsupport", device->gpu);
    if (support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = number("gpm", device->gpu, 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample) {
    ENTER("gpmalloc", -1);
    *sample = calloc(1, sizeof **sample);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
    ENTER("gpmfree", -1);
    free(sample);
    return NVML_SUCCESS;
}

static nvmlReturn_t sampled(nvmlDevice_t device, int instance, nvmlGpmSample_t sample) {
    if (!number("gpm", device->gpu, 0)) return NVML_ERROR_NOT_SUPPORTED;
    *sample = (struct nvmlGpmSample_st){device->gpu, instance, now()};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
    ENTER("gpmsample", device->gpu);
    if (number("mig", device->gpu, 0)) return NVML_ERROR_NOT_SUPPORTED;
    return sampled(device, -1, sample);
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int instance, nvmlGpmSample_t sample) {
    ENTER("gpmmigsample", device->gpu);
    return sampled(device, instance, sample);
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *asked) {
    char key[LINE];
    nvmlGpmSample_t before = asked->sample1, after = asked->sample2;
    ENTER("gpmmetrics", before ? before->gpu : -1);
    if (asked->version != NVML_GPM_METRICS_GET_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (!before || !after || before->gpu != after->gpu || before->instance != after->instance ||
        after->at - before->at <= 0.1)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < asked->numMetrics; i++) {
        nvmlGpmMetric_t *one = &asked->metrics[i];
        if (before->instance < 0) snprintf(key, sizeof key, "gpm.%u", one->metricId);
        else snprintf(key, sizeof key, "mig.gpm.%u@%d", one->metricId, before->instance);
        const char *found = of(key, before->gpu);
        one->nvmlReturn = found ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        one->value = found ? strtod(found, NULL) : -1;
    }
    return NVML_SUCCESS;
}

/* ---- XID events: xids=GPU:CODE,GPU:CODE,… ; each is told once in a process ---- */

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    ENTER("events", -1);
    *set = calloc(1, sizeof **set);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    ENTER("eventsfree", -1);
    free(set);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    ENTER("register", device->gpu);
    if (types != nvmlEventTypeXidCriticalError) return NVML_ERROR_NOT_SUPPORTED;
    set->gpus |= 1ull << device->gpu;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout) {
    double end = now() + timeout / 1e3;
    ENTER("wait", -1);
    do {
        int n = 0;
        look();
        for (const char *at = text("xids"); at && *at && *at != '\n';) {
            char *next;
            int gpu = strtol(at, &next, 10);
            int code = *next == ':' ? strtol(next + 1, &next, 10) : 0;
            at = *next == ',' ? next + 1 : next;
            if (n++ < told) continue;
            told = n;
            if (!(set->gpus >> gpu & 1)) continue;
            *data = (nvmlEventData_t){&whole[gpu], nvmlEventTypeXidCriticalError, code, ~0u, ~0u};
            return NVML_SUCCESS;
        }
        usleep(5000);
    } while (now() < end);
    return NVML_ERROR_TIMEOUT;
}
