// The protocol of channels: what is begun is ended, in order, once, on every path; both ends come to as many stages.
// RUN: irc-opt %s --split-input-file --verify-diagnostics

// A stage that is waited for is released.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  } @compute warps 4 {
    // expected-error @below {{the stage is never released}}
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
  }
}

// -----

// One that is acquired is committed.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    // expected-error @below {{the stage is never committed}}
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
  } @compute warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.release %s
  }
}

// -----

// Stages are released in the order in which they were waited for.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
    %t, %b = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %t
  } @compute warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    %t, %b = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    // expected-error @below {{expected the oldest of the stages that are held}}
    tile.release %t
    tile.release %s
  }
}

// -----

// A stage is released once.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  } @compute warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.release %s
    // expected-error @below {{expected the oldest of the stages that are held}}
    tile.release %s
  }
}

// -----

// No more stages are held than there are: the next one would never come.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 1 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
    %t, %b = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %t
  } @compute warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    // expected-error @below {{would hold 2 stages of a channel that has 1}}
    %t, %b = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.release %s
    tile.release %t
  }
}

// -----

// Every iteration releases what it waits for, or hands it on.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  } @compute warps 4 {
    // expected-error @below {{an iteration ends with other stages held than it begins with}}
    scf.for %i = %c0 to %c8 step %c1 {
      %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    }
  }
}

// -----

// Both sides of a branch do.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  } @compute warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    %last = arith.cmpi eq, %c0, %c1 : index
    // expected-error @below {{only some paths have released the stage}}
    scf.if %last {
      tile.release %s
    }
  }
}

// -----

// One partition fills a channel.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{expected one partition that fills the stages of a channel, found 2}}
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  } @compute_0 warps 4 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
  } @compute_1 warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.release %s
  }
}

// -----

// Both ends come to as many stages.
tile.program @p(%x: !tile.view<4xf32>) {results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{expected as many stages to be waited for as are filled, 8, found 1}}
  %channel = tile.channel {stages = 2 : i64} : !tile.channel<!tile.buffer<4xf32>>
  tile.partitions @load warps 4 {
    scf.for %i = %c0 to %c8 step %c1 {
    %s, %a = tile.acquire %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.commit %s
    }
  } @compute warps 4 {
    %s, %a = tile.wait %channel : !tile.channel<!tile.buffer<4xf32>>
    tile.release %s
  }
}
