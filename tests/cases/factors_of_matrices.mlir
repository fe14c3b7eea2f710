module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<20x6x4xf32>, %arg1: tensor<70x40xf32>, %arg2: tensor<30x64xf32>, %arg3: tensor<80x80xf32>, %arg4: tensor<100x70xf32>) -> (tensor<20x4xf32> {jax.result_info = "result[0]"}, tensor<20x4xf32> {jax.result_info = "result[1]"}, tensor<40xf32> {jax.result_info = "result[2]"}, tensor<30x64xf32> {jax.result_info = "result[3]"}, tensor<80xf32> {jax.result_info = "result[4]"}, tensor<80x80xf32> {jax.result_info = "result[5]"}, tensor<70x70xf32> {jax.result_info = "result[6]"}, tensor<70x70xf32> {jax.result_info = "result[7]"}) {
    %0:3 = call @svd(%arg2) : (tensor<30x64xf32>) -> (tensor<30x30xf32>, tensor<30xf32>, tensor<30x64xf32>)
    %1:2 = call @eigh(%arg3) : (tensor<80x80xf32>) -> (tensor<80xf32>, tensor<80x80xf32>)
    %2 = call @qr(%arg4) : (tensor<100x70xf32>) -> tensor<100x70xf32>
    %3 = call @svd_0(%arg0) : (tensor<20x6x4xf32>) -> tensor<20x4xf32>
    %4 = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<20x6x4xf32>) -> tensor<20x4x6xf32>
    %5 = call @svd_1(%4) : (tensor<20x4x6xf32>) -> tensor<20x4xf32>
    %6 = call @svd_2(%arg1) : (tensor<70x40xf32>) -> tensor<40xf32>
    %7 = stablehlo.broadcast_in_dim %0#1, dims = [1] : (tensor<30xf32>) -> tensor<1x30xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x30xf32>) -> tensor<30x30xf32>
    %9 = stablehlo.multiply %0#0, %8 : tensor<30x30xf32>
    %10 = stablehlo.dot_general %9, %0#2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<30x30xf32>, tensor<30x64xf32>) -> tensor<30x64xf32>
    %11 = stablehlo.broadcast_in_dim %1#0, dims = [1] : (tensor<80xf32>) -> tensor<1x80xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x80xf32>) -> tensor<80x80xf32>
    %13 = stablehlo.multiply %1#1, %12 : tensor<80x80xf32>
    %14 = stablehlo.transpose %1#1, dims = [1, 0] : (tensor<80x80xf32>) -> tensor<80x80xf32>
    %15 = stablehlo.dot_general %13, %14, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<80x80xf32>, tensor<80x80xf32>) -> tensor<80x80xf32>
    %16 = call @qr_3(%arg4) : (tensor<100x70xf32>) -> tensor<70x70xf32>
    %17 = stablehlo.abs %16 : tensor<70x70xf32>
    %18 = stablehlo.transpose %2, dims = [1, 0] : (tensor<100x70xf32>) -> tensor<70x100xf32>
    %19 = stablehlo.dot_general %18, %2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<70x100xf32>, tensor<100x70xf32>) -> tensor<70x70xf32>
    return %3, %5, %6, %10, %1#0, %15, %17, %19 : tensor<20x4xf32>, tensor<20x4xf32>, tensor<40xf32>, tensor<30x64xf32>, tensor<80xf32>, tensor<80x80xf32>, tensor<70x70xf32>, tensor<70x70xf32>
  }
  func.func private @svd(%arg0: tensor<30x64xf32>) -> (tensor<30x30xf32>, tensor<30xf32>, tensor<30x64xf32>) {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m], [n, o], [p, q], []) {i=30, j=64, k=30, l=64, m=30, n=30, o=30, p=30, q=64}, custom>} : (tensor<30x64xf32>) -> (tensor<30x64xf32>, tensor<30xf32>, tensor<30x30xf32>, tensor<30x64xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<30xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi1>) -> tensor<30xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<30xi1>, tensor<30xf32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<30x30xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<30x30xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<30x30xi1>, tensor<30x30xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<30x64xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<30x64xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<30x64xi1>, tensor<30x64xf32>
    return %10, %6, %14 : tensor<30x30xf32>, tensor<30xf32>, tensor<30x64xf32>
  }
  func.func private @eigh(%arg0: tensor<80x80xf32>) -> (tensor<80xf32>, tensor<80x80xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<80x80xf32>) -> tensor<80x80xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<80x80xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<80x80xf32>
    %3 = stablehlo.divide %1, %2 : tensor<80x80xf32>
    %4:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%3) {backend_config = "", mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m], []) {i=80, j=80, k=80, l=80, m=80}, custom>} : (tensor<80x80xf32>) -> (tensor<80x80xf32>, tensor<80xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %6 = stablehlo.compare EQ, %4#2, %5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i1>) -> tensor<1x1xi1>
    %cst_0 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<80x80xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<1x1xi1>) -> tensor<80x80xi1>
    %10 = stablehlo.select %9, %4#0, %8 : tensor<80x80xi1>, tensor<80x80xf32>
    %11 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<80xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<1xi1>) -> tensor<80xi1>
    %14 = stablehlo.select %13, %4#1, %12 : tensor<80xi1>, tensor<80xf32>
    return %14, %10 : tensor<80xf32>, tensor<80x80xf32>
  }
  func.func private @qr(%arg0: tensor<100x70xf32>) -> tensor<100x70xf32> {
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%arg0) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m]) {i=100, j=70, k=100, l=70, m=70}, custom>} : (tensor<100x70xf32>) -> (tensor<100x70xf32>, tensor<70xf32>)
    %1 = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k])->([l, m]) {i=100, j=70, k=70, l=100, m=70}, custom>} : (tensor<100x70xf32>, tensor<70xf32>) -> tensor<100x70xf32>
    %2 = stablehlo.slice %0#0 [0:70, 0:70] : (tensor<100x70xf32>) -> tensor<70x70xf32>
    %3 = stablehlo.iota dim = 0 : tensor<70x70xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<70x70xi32>
    %5 = stablehlo.add %3, %4 : tensor<70x70xi32>
    %6 = stablehlo.iota dim = 1 : tensor<70x70xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<70x70xi32>, tensor<70x70xi32>) -> tensor<70x70xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<70x70xf32>
    %9 = stablehlo.select %7, %8, %2 : tensor<70x70xi1>, tensor<70x70xf32>
    return %1 : tensor<100x70xf32>
  }
  func.func private @svd_0(%arg0: tensor<20x6x4xf32>) -> tensor<20x4xf32> {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 78 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=20, j=6, k=4, l=6, m=4, n=4, o=6, p=6, q=4, r=4}, custom>} : (tensor<20x6x4xf32>) -> (tensor<20x6x4xf32>, tensor<20x4xf32>, tensor<20x6x6xf32>, tensor<20x4x4xf32>, tensor<20xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<20xi32>, tensor<20xi32>) -> tensor<20xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<20xi1>) -> tensor<20x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<20x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<20x1xi1>) -> tensor<20x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<20x4xi1>, tensor<20x4xf32>
    return %6 : tensor<20x4xf32>
  }
  func.func private @svd_1(%arg0: tensor<20x4x6xf32>) -> tensor<20x4xf32> {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 78 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=20, j=4, k=6, l=4, m=6, n=4, o=4, p=4, q=6, r=6}, custom>} : (tensor<20x4x6xf32>) -> (tensor<20x4x6xf32>, tensor<20x4xf32>, tensor<20x4x4xf32>, tensor<20x6x6xf32>, tensor<20xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<20xi32>, tensor<20xi32>) -> tensor<20xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<20xi1>) -> tensor<20x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<20x4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<20x1xi1>) -> tensor<20x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<20x4xi1>, tensor<20x4xf32>
    return %6 : tensor<20x4xf32>
  }
  func.func private @svd_2(%arg0: tensor<70x40xf32>) -> tensor<40xf32> {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 78 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m], [n, o], [p, q], []) {i=70, j=40, k=70, l=40, m=40, n=70, o=70, p=40, q=40}, custom>} : (tensor<70x40xf32>) -> (tensor<70x40xf32>, tensor<40xf32>, tensor<70x70xf32>, tensor<40x40xf32>, tensor<i32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i1>) -> tensor<1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi1>) -> tensor<40xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<40xi1>, tensor<40xf32>
    return %6 : tensor<40xf32>
  }
  func.func private @qr_3(%arg0: tensor<100x70xf32>) -> tensor<70x70xf32> {
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%arg0) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], [m]) {i=100, j=70, k=100, l=70, m=70}, custom>} : (tensor<100x70xf32>) -> (tensor<100x70xf32>, tensor<70xf32>)
    %1 = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [k])->([l, m]) {i=100, j=70, k=70, l=100, m=70}, custom>} : (tensor<100x70xf32>, tensor<70xf32>) -> tensor<100x70xf32>
    %2 = stablehlo.slice %0#0 [0:70, 0:70] : (tensor<100x70xf32>) -> tensor<70x70xf32>
    %3 = stablehlo.iota dim = 0 : tensor<70x70xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<70x70xi32>
    %5 = stablehlo.add %3, %4 : tensor<70x70xi32>
    %6 = stablehlo.iota dim = 1 : tensor<70x70xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<70x70xi32>, tensor<70x70xi32>) -> tensor<70x70xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<70x70xf32>
    %9 = stablehlo.select %7, %8, %2 : tensor<70x70xi1>, tensor<70x70xf32>
    return %9 : tensor<70x70xf32>
  }
}
