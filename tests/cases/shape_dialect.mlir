// Sizes computed in the shape, tensor and arith dialects.
func.func @main() {
  %n = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
  %x = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi32>) -> tensor<?x?xf32>
  %s = shape.shape_of %x : tensor<?x?xf32> -> tensor<2xindex>
  %c = shape.const_shape [3] : tensor<1xindex>
  %w = shape.cstr_broadcastable %s, %c : tensor<2xindex>, tensor<1xindex>
  %r = shape.assuming %w -> (tensor<?x?xf32>) {
    %b = shape.broadcast %s, %c : tensor<2xindex>, tensor<1xindex> -> tensor<2xindex>
    %y = stablehlo.dynamic_broadcast_in_dim %x, %b, dims = [0, 1] : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
    shape.assuming_yield %y : tensor<?x?xf32>
  }
  %known = tensor.cast %r : tensor<?x?xf32> to tensor<2x3xf32>
  check.expect_eq_const %known, dense<[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]> : tensor<2x3xf32>
  %all = shape.shape_of %r : tensor<?x?xf32> -> tensor<2xindex>
  %count = shape.num_elements %all : tensor<2xindex> -> index
  %two = arith.constant 2 : index
  %half = arith.divsi %count, %two : index
  %i = arith.constant 1 : index
  %columns = tensor.dim %r, %i : tensor<?x?xf32>
  %first = tensor.extract %all[%i] : tensor<2xindex>
  %list = tensor.from_elements %half, %columns, %first : tensor<3xindex>
  %ints = arith.index_cast %list : tensor<3xindex> to tensor<3xi32>
  check.expect_eq_const %ints, dense<[3, 3, 3]> : tensor<3xi32>
  func.return
}
