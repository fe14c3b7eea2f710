// ----- s1
// EXPECT: 3:58 found the end of the text, want '}' or a word of a sharding
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s2
// EXPECT: 3:3 parameter of %parameter.0: 0 shardings for 1 value
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s3_replicated
// EXPECT: 3:3 func.func: mhlo.sharding: the bytes of message OpSharding are damaged or cut short
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "replicated"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s4_replicated
// EXPECT: 3:68 found the end of the text, want '}' or a word of a sharding
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{replicated"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s5_replicated_x
// EXPECT: 3:70 found 'x', want the end of the text
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{replicated} x"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s6_replicated_replicated
// EXPECT: 3:68 found ',', want '}' or a word of a sharding
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{replicated,replicated}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s7_maximal
// EXPECT: 3:58 the maximal sharding has no device=
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{maximal}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s8_maximal_device
// EXPECT: 3:73 found '}', want an integer
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{maximal device=}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s9_maximal_device_1
// EXPECT: 3:58 the maximal sharding has no device=
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{maximal device=-1}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s10_maximal_device_x
// EXPECT: 3:73 found 'x', want an integer
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{maximal device=x}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s11_device_3
// EXPECT: 3:58 the sharding has neither a kind nor devices=
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{device=3}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s12_devices
// EXPECT: 3:66 found '}', want '['
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s13_devices
// EXPECT: 3:67 found '}', want an integer
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s14_devices_2
// EXPECT: 3:69 found '}', want an integer
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s15_devices_2_1_0
// EXPECT: 3:66 found 1 devices for 2 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]0}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s16_devices_2_1_0_1_2
// EXPECT: 3:66 found 3 devices for 2 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]0,1,2}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s17_devices_2_1_0_0
// EXPECT: 3:66 found device 0 twice, want 0 to 1, each once
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]0,0}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s18_devices_2_1_0_2
// EXPECT: 3:66 found device 2, want 0 to 1, each once
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]0,2}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s19_devices_2_1_0_1
// EXPECT: 3:66 found device -1, want 0 to 1, each once
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]0,-1}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s20_devices_0_2
// EXPECT: 3:71 found '}', want an integer
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[0,2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s21_devices_2_1_0_1
// EXPECT: 3:66 found 2 devices for -1 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[-2,1]0,1}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s22_devices_2_1
// EXPECT: 3:73 found '}', want '['
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s23_devices_2_1
// EXPECT: 3:66 found 1 devices for 2 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s24_devices_2_1_3
// EXPECT: 3:66 found 3 devices for 2 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[3]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s25_devices_2_1_2_2
// EXPECT: 3:66 the transposition of the devices is no permutation of their dimensions
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2,2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s26_devices_2_2_2_2_t
// EXPECT: 3:79 found '}', want '('
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s27_devices_2_2_2_2_t_0
// EXPECT: 3:66 the transposition of the devices is no permutation of their dimensions
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(0)}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s28_devices_2_2_2_2_t_0_0
// EXPECT: 3:66 the transposition of the devices is no permutation of their dimensions
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(0,0)}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s29_devices_2_2_2_2_t_0_2
// EXPECT: 3:66 the transposition of the devices is no permutation of their dimensions
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(0,2)}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s30_devices_2_2_2_2_t_1_0_2
// EXPECT: 3:66 the transposition of the devices is no permutation of their dimensions
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0,2)}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s31_devices_2_2
// EXPECT: 3:3 parameter of %parameter.0: a sharding of 1 dimension for a value of rank 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s32_devices_2_1_1_2
// EXPECT: 3:3 parameter of %parameter.0: a sharding of 3 dimensions for a value of rank 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,1]<=[2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s33_devices_2_1_2_4_last_tile_dims
// EXPECT: 3:3 parameter of %parameter.0: a sharding of 3 dimensions for a value of rank 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dims={}}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s34_devices_2_1_2_4_last_tile_dims_foo
// EXPECT: 3:95 found 'foo', want replicated, manual, unreduced or maximal
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dims={foo}}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s35_devices_2_1_2_4_last_tile_dims_replicate
// EXPECT: 3:3 parameter of %parameter.0: a sharding of 1 dimension for a value of rank 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dims={replicated,manual}}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s36_devices_2_1_2_last_tile_dim_replicate
// EXPECT: 3:3 parameter of %parameter.0: a sharding of 1 dimension for a value of rank 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2] last_tile_dim_replicate}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s37_devices_2_1_2_4_last_tile_dim_replicates
// EXPECT: 3:79 found 'last_tile_dim_replicates', want '}' or a word of a sharding
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicates}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s38_devices_2_1_2_devices_1_2_2
// EXPECT: 3:85 found devices= twice
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2] devices=[1,2]<=[2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s39_replicated_maximal_device_0
// EXPECT: 3:69 found 'maximal', want one kind of sharding and its attributes
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{replicated maximal device=0}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s40_manual_replicated
// EXPECT: 3:65 found 'replicated', want one kind of sharding and its attributes
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{manual replicated}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s41_devices_2_1_2_replicated
// EXPECT: 3:58 the sharding has both a kind and devices=
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2] replicated}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s42_last_tile_dim_replicate
// EXPECT: 3:58 the sharding has neither a kind nor devices=
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{last_tile_dim_replicate}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s43_devices_2_1_2_shard_as
// EXPECT: 3:85 found '}', want an integer
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2] shard_as}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s44_devices_2_1_2_shard_as_1_shard_like_2
// EXPECT: 3:88 found 'shard_like', want one shard_as or shard_like
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2] shard_as 1 shard_like 2}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s45_replicated_x
// EXPECT: 3:71 found 'x', want the end of the text
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{{replicated}}x"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s46_replicated
// EXPECT: 3:71 found '}', want '{'
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{{replicated},}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s47_replicated_replicated
// EXPECT: 3:72 found 'replicated', want '{'
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{{replicated}, replicated}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s48_devices_2_1_2_replicated
// EXPECT: 3:3 parameter of %parameter.0: 2 shardings for 1 value
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{{devices=[2,1]<=[2]}, {replicated}}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s49_unknown_unknown
// EXPECT: 3:66 found 'unknown', want one kind of sharding and its attributes
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{unknown unknown}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s50_devices_99999999999999999999_1_2
// EXPECT: 3:67 found an integer beyond 64 bits
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[99999999999999999999,1]<=[2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s51_devices_4611686018427387904_4_2
// EXPECT: 3:66 found 2 devices for -1 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[4611686018427387904,4]<=[2]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s52_devices_2_1_99999999
// EXPECT: 3:66 found -1 devices for 2 tiles, want as many, and at most 1048576
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[99999999]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s54_devices_2_1_2
// EXPECT: 3:78 found ',', want '}' or a word of a sharding
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2, 1]<=[2] ,}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s55_mesh_d_2_d
// EXPECT: 3:3 parameter of %parameter.0: a sharding of 1 dimension for a value of rank 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2], [{'d'}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s56_mesh_d_2_e
// EXPECT: 3:73 found ''e'', want an axis of the mesh
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2], [{'e'}, {}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s57_mesh_d_2_d_d
// EXPECT: 3:80 axis 'd' is used twice, want each part of it once
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2], [{'d'}, {'d'}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s58_mesh_d_0
// EXPECT: 3:67 found '0', want a size of 1 or more
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=0], [{}, {}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s60_mesh_d_4_d_3_2
// EXPECT: 3:73 found part (3)2 of an axis of size 4, want one that divides it
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=4], [{'d':(3)2}, {}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s61_mesh_d_2_d_replicated_d
// EXPECT: 3:96 axis 'd' is used twice, want each part of it once
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2], [{'d'}, {}], replicated={'d'}}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s62_mesh_d_2_d_foo
// EXPECT: 3:84 found 'foo=', want replicated=, unreduced=, manual= or metadata=
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2], [{'d'}, {}], foo={}}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s63_mesh_d_2_d_2_d
// EXPECT: 3:69 found axis 'd' twice in a mesh
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2,'d'=2], [{'d'}, {}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s64_mesh_d_2_device_ids_1_d
// EXPECT: 3:82 found 1 device_ids, want the mesh's 2
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2], device_ids=(1), [{'d'}, {}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- s65_mesh_d_2_d
// EXPECT: 3:70 found '[', want ','
module @m {
  func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{mesh['d'=2] [{'d'}, {}]}"}) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- alias_of_a_mesh
// EXPECT: 6:37 found '#d', want a sharding, or the alias of one that is defined before
#d = #sdy.mesh<["x"=2]>
module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %b = sdy.sharding_constraint %a #d : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
// ----- alias_in_a_list_unknown
// EXPECT: 5:71 the list of shardings has "#d]", want "<"
module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %b = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[#d]>} : tensor<8x4xf32>
    return %b : tensor<8x4xf32>
  }
}
