// Left matrices whose columns are dense, and are at offsets that have no single step: small integers,
// against products of integers.
func.func @listed_columns() {
  %a_at = stablehlo.iota dim = 0 : tensor<123140xi32>
  %b_at = stablehlo.iota dim = 0 : tensor<65800xi32>
  %a_seven = stablehlo.constant dense<7> : tensor<123140xi32>
  %a_three = stablehlo.constant dense<3> : tensor<123140xi32>
  %b_five = stablehlo.constant dense<5> : tensor<65800xi32>
  %b_two = stablehlo.constant dense<2> : tensor<65800xi32>
  %a_rest = stablehlo.remainder %a_at, %a_seven : tensor<123140xi32>
  %b_rest = stablehlo.remainder %b_at, %b_five : tensor<65800xi32>
  %a_flat = stablehlo.subtract %a_rest, %a_three : tensor<123140xi32>
  %b_flat = stablehlo.subtract %b_rest, %b_two : tensor<65800xi32>
  %a = stablehlo.reshape %a_flat : (tensor<123140xi32>) -> tensor<2x2x235x131xi32>
  %b = stablehlo.reshape %b_flat : (tensor<65800xi32>) -> tensor<2x2x235x70xi32>
  %want = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [0, 2] x [0, 2] : (tensor<2x2x235x131xi32>, tensor<2x2x235x70xi32>) -> tensor<2x131x70xi32>

  %a32 = stablehlo.convert %a : (tensor<2x2x235x131xi32>) -> tensor<2x2x235x131xf32>
  %b32 = stablehlo.convert %b : (tensor<2x2x235x70xi32>) -> tensor<2x2x235x70xf32>
  %f32 = stablehlo.dot_general %a32, %b32, batching_dims = [1] x [1], contracting_dims = [0, 2] x [0, 2] : (tensor<2x2x235x131xf32>, tensor<2x2x235x70xf32>) -> tensor<2x131x70xf32>
  %want32 = stablehlo.convert %want : (tensor<2x131x70xi32>) -> tensor<2x131x70xf32>
  check.expect_eq %f32, %want32 : tensor<2x131x70xf32>

  %a64 = stablehlo.convert %a : (tensor<2x2x235x131xi32>) -> tensor<2x2x235x131xf64>
  %b64 = stablehlo.convert %b : (tensor<2x2x235x70xi32>) -> tensor<2x2x235x70xf64>
  %f64 = stablehlo.dot_general %a64, %b64, batching_dims = [1] x [1], contracting_dims = [0, 2] x [0, 2] : (tensor<2x2x235x131xf64>, tensor<2x2x235x70xf64>) -> tensor<2x131x70xf64>
  %want64 = stablehlo.convert %want : (tensor<2x131x70xi32>) -> tensor<2x131x70xf64>
  check.expect_eq %f64, %want64 : tensor<2x131x70xf64>
  func.return
}
