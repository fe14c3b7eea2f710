// The custom call that JAX makes of lax.ragged_all_to_all: XLA and hlorun read the op.
module @exchange {
  func.func @send(%x: tensor<4xi32>, %sizes: tensor<2xi32>, %from: tensor<2xi32>, %to: tensor<2xi32>, %got: tensor<2xi32>) -> tensor<5xi32> {
    %zero = stablehlo.constant dense<0> : tensor<5xi32>
    %y = stablehlo.custom_call @ragged_all_to_all(%x, %zero, %from, %sizes, %to, %got) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4xi32>, tensor<5xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<5xi32>
    return %y : tensor<5xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %b = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi32>
    %a_from = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %a_sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    %a_to = stablehlo.constant dense<[0, 0]> : tensor<2xi32>
    %a_got = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %b_from = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %b_sizes = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
    %b_to = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    %b_got = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
    %y:2 = "interpreter.run_parallel"(%a, %a_sizes, %a_from, %a_to, %a_got, %b, %b_sizes, %b_from, %b_to, %b_got) {programs = [[@send, @send]]} : (tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<5xi32>, tensor<5xi32>)
    check.expect_eq_const %y#0, dense<[1, 5, 6, 0, 0]> : tensor<5xi32>
    check.expect_eq_const %y#1, dense<[2, 3, 4, 7, 8]> : tensor<5xi32>
    return
  }
}
