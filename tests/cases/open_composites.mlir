// Composites whose declared results are more dynamic than their operands: what they are replaced by is static.
func.func @main(%x: tensor<3x2x2xf32>) -> (tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?x?x2xf32>) {
  %0 = stablehlo.composite "chlo.asinh" %x {decomposition = @asinh, version = 1 : i32} : (tensor<3x2x2xf32>) -> tensor<?x2x2xf32>
  %1 = stablehlo.composite "chlo.erf" %x {decomposition = @erf, version = 1 : i32} : (tensor<3x2x2xf32>) -> tensor<?x2x2xf32>
  %2:2 = func.call @both(%x) : (tensor<3x2x2xf32>) -> (tensor<?x2x2xf32>, tensor<?x?x2xf32>)
  %3 = stablehlo.add %0, %2#0 : tensor<?x2x2xf32>
  return %3, %1, %2#1 : tensor<?x2x2xf32>, tensor<?x2x2xf32>, tensor<?x?x2xf32>
}
func.func private @asinh(%x: tensor<3x2x2xf32>) -> tensor<?x2x2xf32> {
  %0 = chlo.asinh %x : tensor<3x2x2xf32> -> tensor<?x2x2xf32>
  return %0 : tensor<?x2x2xf32>
}
func.func private @erf(%x: tensor<3x2x2xf32>) -> tensor<?x2x2xf32> {
  %0 = chlo.erf %x : tensor<3x2x2xf32> -> tensor<?x2x2xf32>
  return %0 : tensor<?x2x2xf32>
}
func.func private @both(%x: tensor<3x2x2xf32>) -> (tensor<?x2x2xf32>, tensor<?x?x2xf32>) {
  %0 = stablehlo.negate %x : (tensor<3x2x2xf32>) -> tensor<?x2x2xf32>
  %1 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<3x2x2xf32>) -> tensor<?x?x2xf32>
  return %0, %1 : tensor<?x2x2xf32>, tensor<?x?x2xf32>
}
