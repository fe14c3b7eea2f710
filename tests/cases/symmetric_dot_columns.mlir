// Symmetric products with more columns of blocks than two workers share by single blocks, against
// products by reversed matrices, which are not symmetric: x x^T, x^T x with an elementwise op after
// it, and a batch.
func.func @columns_of_blocks() {
  %rows = stablehlo.iota dim = 0 : tensor<421x403xf32>
  %columns = stablehlo.iota dim = 1 : tensor<421x403xf32>
  %step = stablehlo.constant dense<0.37> : tensor<421x403xf32>
  %product = stablehlo.multiply %rows, %columns : tensor<421x403xf32>
  %sum = stablehlo.add %product, %rows : tensor<421x403xf32>
  %angle = stablehlo.multiply %sum, %step : tensor<421x403xf32>
  %x = stablehlo.sine %angle : tensor<421x403xf32>

  %y = stablehlo.reverse %x, dims = [0] : tensor<421x403xf32>
  %xx = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<421x403xf32>, tensor<421x403xf32>) -> tensor<421x421xf32>
  %xy = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<421x403xf32>, tensor<421x403xf32>) -> tensor<421x421xf32>
  %want_xx = stablehlo.reverse %xy, dims = [1] : tensor<421x421xf32>
  check.expect_almost_eq %xx, %want_xx : tensor<421x421xf32>

  %z = stablehlo.reverse %x, dims = [1] : tensor<421x403xf32>
  %tt = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<421x403xf32>, tensor<421x403xf32>) -> tensor<403x403xf32>
  %tz = stablehlo.dot_general %x, %z, contracting_dims = [0] x [0] : (tensor<421x403xf32>, tensor<421x403xf32>) -> tensor<403x403xf32>
  %tanh = stablehlo.tanh %tt : tensor<403x403xf32>
  %tanh_z = stablehlo.tanh %tz : tensor<403x403xf32>
  %want_tanh = stablehlo.reverse %tanh_z, dims = [1] : tensor<403x403xf32>
  check.expect_almost_eq %tanh, %want_tanh : tensor<403x403xf32>

  %long = stablehlo.convert %x : (tensor<421x403xf32>) -> tensor<421x403xf64>
  %batch = stablehlo.broadcast_in_dim %long, dims = [1, 2] : (tensor<421x403xf64>) -> tensor<2x421x403xf64>
  %other = stablehlo.reverse %batch, dims = [1] : tensor<2x421x403xf64>
  %bb = stablehlo.dot_general %batch, %batch, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x421x403xf64>, tensor<2x421x403xf64>) -> tensor<2x421x421xf64>
  %bo = stablehlo.dot_general %batch, %other, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x421x403xf64>, tensor<2x421x403xf64>) -> tensor<2x421x421xf64>
  %want_bb = stablehlo.reverse %bo, dims = [2] : tensor<2x421x421xf64>
  check.expect_almost_eq %bb, %want_bb : tensor<2x421x421xf64>
  func.return
}
