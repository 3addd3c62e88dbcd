// What #kernel.config does not parse, and how it says so.
// RUN: irc-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// CHECK: #kernel.config has no field `tiles`; did you mean `tile`?
func.func @f() attributes {c = #kernel.config<tiles = [1]>} {func.return}
// -----
// CHECK: #kernel.config has no field `color`; its fields are tile, stages, cluster, warps
func.func @f() attributes {c = #kernel.config<color = 1>} {func.return}
// -----
// CHECK: expected `swap_ab = ` and a value, found no value
func.func @f() attributes {c = #kernel.config<swap_ab>} {func.return}
// -----
// CHECK: tile must be positive integers by the names of dimensions, such as {m = 128, n = 256, k = 64}, found 3
func.func @f() attributes {c = #kernel.config<tile = 3>} {func.return}
// -----
// CHECK: tile must be positive integers by the names of dimensions, such as {m = 128, n = 256, k = 64}, found [64, 64]
func.func @f() attributes {c = #kernel.config<tile = [64, 64]>} {func.return}
// -----
// CHECK: the size of `m` is set twice
func.func @f() attributes {c = #kernel.config<tile = {m = 16, m = 32}>} {func.return}
// -----
// CHECK: tile must be positive integers by the names of dimensions, such as {m = 128, n = 256, k = 64}, found {d = 0, r = 4}
func.func @f() attributes {c = #kernel.config<tile = {d = 0, r = 4}>} {func.return}
// -----
// CHECK: cluster must be a list of 2 positive integers, found [1]
func.func @f() attributes {c = #kernel.config<cluster = [1]>} {func.return}
// -----
// CHECK: schedule must be "grid" or "persistent" or "dynamic" or "pingpong", found "rows"
func.func @f() attributes {c = #kernel.config<schedule = "rows">} {func.return}
// -----
// CHECK: #kernel.config sets `stages` twice
func.func @f() attributes {c = #kernel.config<stages = 1, stages = 2>} {func.return}
// -----
// CHECK: loop_order must list every dimension from 0 once, found [0, 2]
func.func @f() attributes {c = #kernel.config<loop_order = [0, 2]>} {func.return}
// -----
// CHECK: expected an integer, a string, true, false, a list of integers or sizes by name
func.func @f() attributes {c = #kernel.config<stages = f32>} {func.return}
// -----
// CHECK: lag must be a number of powers of two from 1 to 15, found 16
func.func @f() attributes {c = #kernel.config<lag = 16>} {func.return}
// -----
// CHECK: turns must be true or false, found 3
func.func @f() attributes {c = #kernel.config<turns = 3>} {func.return}

// -----

// CHECK: registers must be a multiple of 8 from 24 to 240, found 100
func.func @f() attributes {c = #kernel.config<registers = 100>} {func.return}

// -----

// CHECK: split_sums must be "parallel" or "serial", found "turns"
func.func @f() attributes {c = #kernel.config<split_sums = "turns">} {func.return}
