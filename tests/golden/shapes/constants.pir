# RUN: shapes,cost | print --facts cost
perfir 1
module @constants
graph @main() {
  %a = constant() {value=known(2)[1.5, 2.5], value_dtype="f16"} : ?
  %b = constant() {sparse_value=known(3)[0, 4, 0], sparse_value_dtype="i32"} : ?
  %c = constant() {value_dtype="f32"} : ?
  %d = constant() {value_int=7} : ?
  %e = constant() {value_ints=[1, 2, 3]} : ?
  %f = constant() {value_float=0.5} : ?
  %g = constant() {value_floats=[0.5, 1.5]} : ?
  %h = constant() {value_string="a"} : ?
  %i = constant() {value_strings=["a", "b"]} : ?
  %j = constant() : ?
  %k = add(%e, %d) : ?
  %l = range(%d, %d, %d) : ?
  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l
}
# ---- expect
perfir 1
module @constants

graph @main() {
  %a = constant() {value=known(2)[1.5, 2.5], value_dtype="f16"} : f16[2] = [1.5, 2.5]
    ! cost {}
  %b = constant() {sparse_value=known(3)[0, 4, 0], sparse_value_dtype="i32"} : i32[3] = [0, 4, 0]
    ! cost {}
  %c = constant() {value_dtype="f32"} : f32[*]
    ! cost {}
  %d = constant() {value_int=7} : i64[] = 7
    ! cost {}
  %e = constant() {value_ints=[1, 2, 3]} : i64[3] = [1, 2, 3]
    ! cost {}
  %f = constant() {value_float=0.5} : f32[] = 0.5
    ! cost {}
  %g = constant() {value_floats=[0.5, 1.5]} : f32[2] = [0.5, 1.5]
    ! cost {}
  %h = constant() {value_string="a"} : str[] = "a"
    ! cost {}
  %i = constant() {value_strings=["a", "b"]} : str[2] = ["a", "b"]
    ! cost {}
  %j = constant() : ?[*]
    ! cost {}
  %k = add(%e, %d) : i64[3] = [8, 9, 10]
    ! cost {integer=3, read_bytes=32, write_bytes=24}
  %l = range(%d, %d, %d) : i64[0] = []
    ! cost {}
  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j, %k, %l
}
