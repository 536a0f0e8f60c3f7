// Stubs of what hwloc and PMIx use optionally and a static program cannot have: shared libraries
// and plug-ins, which would need the node's C library; its user database; udev and munge, which
// have no static libraries. All of them report that nothing is available, which both libraries
// handle.

struct passwd;

extern "C" {

void* dlopen(const char*, int) { return nullptr; }
int dlclose(void*) { return 0; }
void* dlsym(void*, const char*) { return nullptr; }
char* dlerror() {
  static char text[] = "this program is static";
  return text;
}

passwd* getpwuid(unsigned) { return nullptr; }

void* udev_new() { return nullptr; }
void* udev_unref(void*) { return nullptr; }
void* udev_device_new_from_subsystem_sysname(void*, const char*, const char*) { return nullptr; }
const char* udev_device_get_property_value(void*, const char*) { return nullptr; }
void* udev_device_unref(void*) { return nullptr; }

int munge_encode(char**, void*, const void*, int) { return 1; }
int munge_decode(const char*, void*, void**, int*, unsigned*, unsigned*) { return 1; }
const char* munge_strerror(int) { return "munge is not available"; }
}
