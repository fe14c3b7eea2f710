// What StableHLO defines otherwise than XLA, whose case is meaning_of_hlo.hlo.
module @members_by_partition {
  func.func @gather(%x: tensor<1xf32>) -> tensor<4xf32> {
    %y = "stablehlo.all_gather"(%x) {
      all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
    } : (tensor<1xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<0.0> : tensor<1xf32>
    %b = stablehlo.constant dense<1.0> : tensor<1xf32>
    %c = stablehlo.constant dense<2.0> : tensor<1xf32>
    %d = stablehlo.constant dense<3.0> : tensor<1xf32>
    %y:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {
      programs = [[@gather, @gather], [@gather, @gather]]
    } : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) ->
        (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    check.expect_eq_const %y#0, dense<[2.0, 0.0, 3.0, 1.0]> : tensor<4xf32>
    check.expect_eq_const %y#3, dense<[2.0, 0.0, 3.0, 1.0]> : tensor<4xf32>
    func.return
  }
}

// -----

module @chunks_by_partition {
  func.func @scatter(%x: tensor<2x4xf32>) -> tensor<2x1xf32> {
    %y = "stablehlo.reduce_scatter"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {
      scatter_dimension = 1 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>
    } : (tensor<2x4xf32>) -> tensor<2x1xf32>
    return %y : tensor<2x1xf32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<2x4xf32>
    %y:4 = "interpreter.run_parallel"(%x, %x, %x, %x) {
      programs = [[@scatter, @scatter], [@scatter, @scatter]]
    } : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) ->
        (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
    check.expect_eq_const %y#0, dense<[[4.0], [20.0]]> : tensor<2x1xf32>
    check.expect_eq_const %y#1, dense<[[12.0], [28.0]]> : tensor<2x1xf32>
    check.expect_eq_const %y#2, dense<[[0.0], [16.0]]> : tensor<2x1xf32>
    check.expect_eq_const %y#3, dense<[[8.0], [24.0]]> : tensor<2x1xf32>
    func.return
  }
}

// -----

func.func @real_part_of_complex() {
  %x = stablehlo.constant dense<[(0.0, 1.0), (0.0, 0.0), (2.0, 0.0)]> : tensor<3xcomplex<f32>>
  %y = stablehlo.convert %x : (tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %y, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @nan_without_mantissa() {
  %x = stablehlo.constant dense<[0x7FC00000, 0xFFC00000, 70000.0, 1.0]> : tensor<4xf32>
  %y = stablehlo.reduce_precision %x, format = e5m0 : tensor<4xf32>
  check.expect_eq_const %y, dense<[0x7F800000, 0x7F800000, 0x7F800000, 1.0]> : tensor<4xf32>
  func.return
}

// -----

func.func @i1_is_a_bit() {
  %x = stablehlo.constant dense<[[5], [-128]]> : tensor<2x1xi8>
  %flat = stablehlo.reshape %x : (tensor<2x1xi8>) -> tensor<2xi8>
  %bits = stablehlo.bitcast_convert %flat : (tensor<2xi8>) -> tensor<2x8xi1>
  check.expect_eq_const %bits, dense<[[true, false, true, false, false, false, false, false],
                                      [false, false, false, false, false, false, false, true]]> : tensor<2x8xi1>
  %y = stablehlo.bitcast_convert %bits : (tensor<2x8xi1>) -> tensor<2xi8>
  check.expect_eq %y, %flat : tensor<2xi8>
  func.return
}

// -----

func.func @exponential_of_no_angle() {
  %x = stablehlo.constant dense<[(0xFF800000, 0x7F800000), (0x7F800000, 0xFF800000), (0xFF800000, 0x7FC00000), (0xFF800000, 1.0)]> : tensor<4xcomplex<f32>>
  %y = stablehlo.exponential %x : tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[(0x7FC00000, 0x7FC00000), (0x7FC00000, 0x7FC00000), (0x7FC00000, 0x7FC00000), (0.0, 0.0)]> : tensor<4xcomplex<f32>>
  func.return
}
