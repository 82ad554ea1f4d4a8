/* The program zc-run of wheels. */
int zc_run_program(int argc, char **argv);

int main(int argc, char **argv) { return zc_run_program(argc, argv); }
